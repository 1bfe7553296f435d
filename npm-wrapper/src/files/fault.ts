import type { Fault as FaultName } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import type { LogSink } from '../component/log.js';

export type { FaultName };

/**
 * Why a file could not be read or written, in the contract's words.
 *
 * The glue takes `payload` off whatever an import throws. No `Error`, because a missing file is an everyday answer and the
 * stack trace would cost more than the look at the file.
 */
export class Fault {
  constructor(readonly payload: FaultName) {}
}

/** The operating system's code for an error, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the operating system refused to show what stands at a path. */
export function isRefusal(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'EACCES' || errno === 'EPERM';
}

/** What an error of the operating system is called in the contract. */
export function faultOf(error: unknown, path: string, log: LogSink): Fault {
  if (error instanceof Fault) return error;
  switch (errnoOf(error)) {
    case 'ENOENT':
      return new Fault('missing');
    case 'EEXIST':
      return new Fault('exists');
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new Fault('denied');
    case 'ENOSPC':
    case 'EDQUOT':
      return new Fault('full');
    case 'EBUSY':
    case 'EAGAIN':
      return new Fault('busy');
    case 'EFBIG':
    case 'ERR_FS_FILE_TOO_LARGE':
      return new Fault('too-large');
    default:
      log('debug', `\`${path}\`: ${error instanceof Error ? error.message : String(error)}`);
      return new Fault('other');
  }
}
