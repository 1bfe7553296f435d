// The import tollgate:hooks/log, and the log function of the embedder.
import type { Level } from '../../generated/interfaces/tollgate-hooks-log.js';

/** Receives log lines of the gate. */
export type LogSink = (level: Level, message: string, details?: unknown) => void;

/**
 * The log function that the imports use.
 *
 * Errors of the embedder's function are wrapped, so that they cannot be mistaken for errors of the contract.
 */
export function createLogSink(log: LogSink | undefined): LogSink {
  if (log === undefined) return () => {};
  return (level, message, details) => {
    try {
      if (details === undefined) log(level, message);
      else log(level, message, details);
    } catch (cause) {
      throw new Error('the log function threw', { cause });
    }
  };
}

/** The import `tollgate:hooks/log`. */
export function logImport(log: LogSink) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    write(level: Level, message: string, details: Uint8Array): void {
      log(level, message, details.byteLength === 0 ? undefined : parseDetails(decoder.decode(details)));
    },
  };
}

/** The details as text if they are not valid JSON. */
function parseDetails(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
