import type { Level } from '../../generated/interfaces/tollgate-hooks-log.js';

/** Takes what the gate has to say to whoever runs the host. */
export type LogSink = (level: Level, message: string, details?: unknown) => void;

/**
 * The sink that the gate's imports speak to.
 *
 * What the embedder's own function throws is wrapped, so that it can never pass for an answer of the contract.
 */
export function sink(log: LogSink | undefined): LogSink {
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
      log(level, message, details.byteLength === 0 ? undefined : parsed(decoder.decode(details)));
    },
  };
}

/** The details as the guest wrote them, where they are no JSON after all. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
