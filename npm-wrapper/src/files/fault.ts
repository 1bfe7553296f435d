// Converts errors of the operating system to faults of the contract.
import type { Fault as FaultName } from '../../generated/interfaces/tollgate-hooks-workspace.js';
import type { LogSink } from '../component/log.js';

export type { FaultName };

/**
 * Why a file could not be read or written, as defined in the contract.
 *
 * The generated code reads `payload` from whatever an import throws. This is not an `Error`, because a missing file is common and
 * a stack trace would cost more than the file access.
 */
export class FileFault {
  constructor(readonly payload: FaultName) {}
}

/** The error code of the operating system, such as `ENOENT`. */
export function errnoOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the operating system denied access to a path. */
export function isRefusal(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === 'EACCES' || errno === 'EPERM';
}

/** Maps an error of the operating system to a fault of the contract. */
export function faultOf(error: unknown, path: string, log: LogSink): FileFault {
  if (error instanceof FileFault) return error;
  switch (errnoOf(error)) {
    case 'ENOENT':
      return new FileFault('missing');
    case 'EEXIST':
      return new FileFault('exists');
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new FileFault('denied');
    case 'ENOSPC':
    case 'EDQUOT':
      return new FileFault('full');
    case 'EBUSY':
    case 'EAGAIN':
      return new FileFault('busy');
    case 'EFBIG':
    case 'ERR_FS_FILE_TOO_LARGE':
      return new FileFault('too-large');
    default:
      log('debug', `\`${path}\`: ${error instanceof Error ? error.message : String(error)}`);
      return new FileFault('other');
  }
}
