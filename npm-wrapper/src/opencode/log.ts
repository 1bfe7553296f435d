import type { LogLevel } from '../api/index.js';
import type { PluginInput } from './index.js';

/** Takes what the plugin has to say to whoever runs OpenCode. */
export type Log = (level: LogLevel, message: string, details?: unknown) => void;

/**
 * OpenCode's own log. It is not waited for, and a log that fails fails nobody else.
 *
 * A line takes OpenCode some milliseconds, also one that it drops for its level, and there are two for debugging in every call.
 */
export function hostLog(client: PluginInput['client'], debug: boolean): Log {
  return (level, message, details) => {
    if (level === 'debug' && !debug) return;
    const extra = details === undefined ? {} : { extra: { details } };
    const write = async () => client.app.log({ body: { service: 'tollgate', level, message, ...extra } });
    write().catch(() => {});
  };
}

/** For how long a message stays, which a person has to read. */
const TOAST_MS = 15_000;

/**
 * Tells the person something: in OpenCode's window, where there is one, and in its log. Without a window, as in `opencode run`,
 * nobody takes the message, which is nobody's fault.
 */
export function hostNotice(client: PluginInput['client'], log: Log): (message: string) => void {
  return (message) => {
    log('warn', message);
    const show = async () => client.tui?.showToast({ body: { message, variant: 'warning', duration: TOAST_MS } });
    show().catch(() => {});
  };
}
