/** What OpenCode gives a plugin, as far as this one uses it. Nothing of it is trusted to be there. */

/** One tool call. */
export interface ToolInput {
  tool: string;
  sessionID: string;
  callID: string;
}

/** What an event is about. */
export type Properties = Record<string, unknown>;

/** The value as an object to look into; an empty one where it is none. */
export function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The value, where it is a text. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
