// Writes to OpenCode's log, and shows messages to the person.
import type { LogLevel } from '../api/index.js';
import type { PluginInput } from './index.js';

/** Receives log messages of the plugin. */
export type Log = (level: LogLevel, message: string, details?: unknown) => void;

/**
 * Writes to OpenCode's log without waiting; errors are ignored.
 *
 * OpenCode takes some milliseconds per line, even for lines below its log level, and every call has two debug lines.
 */
export function hostLog(client: PluginInput['client'], debug: boolean): Log {
  return (level, message, details) => {
    if (level === 'debug' && !debug) return;
    const extra = details === undefined ? {} : { extra: { details } };
    const write = async () => client.app.log({ body: { service: 'tollgate', level, message, ...extra } });
    write().catch(() => {});
  };
}

/** How long a message is shown. */
const TOAST_MS = 15_000;

/**
 * Shows a message to the person in OpenCode's window, if there is one, and logs it. Without a window, as in `opencode run`,
 * showing it fails, which is ignored.
 */
export function hostNotice(client: PluginInput['client'], log: Log): (message: string) => void {
  return (message) => {
    log('warn', message);
    const show = async () => client.tui?.showToast({ body: { message, variant: 'warning', duration: TOAST_MS } });
    show().catch(() => {});
  };
}
