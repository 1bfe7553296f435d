/**
 * A stable code for why a call of this package failed.
 *
 * | code | meaning |
 * | --- | --- |
 * | `workspace_missing` | the workspace does not exist, is not a folder or cannot be accessed |
 * | `state_missing` | there is no folder for state between calls |
 * | `component_missing` | the `.wasm` files of the package are not next to its code |
 * | `invalid_input` | an argument is invalid; the message names it |
 * | `unknown_intent`, `intent_closed`, `not_governed` | why an intent could not be selected |
 * | `unknown_hook` | there is no hook with that id |
 * | `not_done` | the operation failed; the message says why |
 * | `workspace_fault` | a file of the workspace could not be read or written |
 * | `guest_trap` | the component failed; the next call uses a fresh instance |
 * | `no_answer` | the gate did not answer a payload, not even with an error: the tool must not run |
 * | `reentrant` | a callback called the gate that was calling it |
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

  /** A stable code for programs. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
