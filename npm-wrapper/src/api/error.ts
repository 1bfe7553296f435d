/**
 * Why a call of this package failed, for programs.
 *
 * | code | what it means |
 * | --- | --- |
 * | `workspace_missing` | the workspace does not exist, is no folder or cannot be looked at |
 * | `state_missing` | there is no folder to keep anything between calls in |
 * | `component_missing` | the `.wasm` files of the package are not beside its code |
 * | `invalid_input` | the caller passed something unusable; the message names it |
 * | `unknown_intent`, `intent_closed`, `not_governed` | why an intent could not be selected |
 * | `unknown_hook` | there is no hook of that id |
 * | `not_done` | it could not be done; the message says why |
 * | `workspace_fault` | a file of the workspace could not be read or written |
 * | `guest_trap` | the component failed; the next call works on a fresh one |
 * | `no_answer` | the gate did not answer to a program's payload, not even that it failed: a tool must not run |
 * | `reentrant` | a callback called back into the gate that was calling it |
 */
export type ErrorCode =
  | 'workspace_missing'
  | 'state_missing'
  | 'component_missing'
  | 'invalid_input'
  | 'unknown_intent'
  | 'intent_closed'
  | 'not_governed'
  | 'unknown_hook'
  | 'not_done'
  | 'workspace_fault'
  | 'guest_trap'
  | 'no_answer'
  | 'reentrant';

/** The only error that this package throws. */
export class TollgateError extends Error {
  override readonly name = 'TollgateError';

  /** Stable, for programs. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
