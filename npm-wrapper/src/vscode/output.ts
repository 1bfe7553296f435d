// The output channel.
import * as vscode from 'vscode';
import type { HookRecord } from '../api/hook_types.js';
import type { ThreadMessage } from './messages.js';

type LogMessage = Extract<ThreadMessage, { type: 'log' }>;

/** The output channel. The gate removes secrets from its messages; nothing else is written that could contain one. */
export class EditorOutput implements vscode.Disposable {
  readonly #channel = vscode.window.createOutputChannel('Tollgate', { log: true });

  show(): void {
    this.#channel.show(true);
  }

  info(message: string): void {
    this.#channel.info(message);
  }

  warn(message: string): void {
    this.#channel.warn(message);
  }

  /** Writes a log message of a folder's gate. */
  log(folder: string, { level, message, details }: LogMessage): void {
    const text = details === undefined ? `${folder}: ${message}` : `${folder}: ${message} ${JSON.stringify(details)}`;
    this.#channel[level](text);
  }

  /** Writes the status of a hook run. */
  record(folder: string, record: HookRecord): void {
    const { hook, trigger, file, status, attempts, durationMs, exitCode, reason, output } = record;
    const facts = [
      file === undefined ? trigger : `${trigger} ${file}`,
      attempts > 1 ? `attempt ${attempts}` : '',
      exitCode === undefined || exitCode === 0 ? '' : `exit code ${exitCode}`,
      durationMs === undefined ? '' : `${durationMs} ms`,
      reason ?? '',
    ].filter((fact) => fact !== '');
    const text = `${folder}: hook ${hook} ${status} (${facts.join(', ')})`;
    if (status === 'queued' || status === 'running') this.#channel.debug(text);
    else if (status === 'failed' || status === 'timeout') this.#channel.warn(text);
    else this.#channel.info(text);
    for (const line of (output ?? '').split('\n'))
      if (line.trim() !== '') this.#channel.info(`${folder}: hook ${hook} | ${line}`);
  }

  dispose(): void {
    this.#channel.dispose();
  }
}
