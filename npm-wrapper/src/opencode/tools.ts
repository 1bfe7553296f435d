import type { Tollgate } from '../index.js';
import { fields, textIn } from './host.js';

/** A tool that the plugin adds. OpenCode takes the JSON Schema of each argument as it stands. */
export interface Tool {
  description: string;
  args: Record<string, { type: string; description: string }>;
  execute(args: unknown, context: { sessionID: string }): Promise<string>;
}

/** The tools by which an agent finds, takes up and lays down an intent. */
export function intentTools(gate: Tollgate): Record<string, Tool> {
  return {
    select_active_intent: {
      description: 'Select the intent that you work for. Only files in its scope can be changed; without one, none. Another replaces it.',
      args: { intent_id: { type: 'string', description: 'The id, such as INT-001; list_intents shows them.' } },
      async execute(args, { sessionID }) {
        const asked = textIn(fields(args).intent_id);
        if (asked === undefined) throw new Error('`intent_id` is missing; pass the id of an intent, such as INT-001');
        const { id, name, status } = gate.selectIntent(sessionID, asked);
        return `${id} (${name}, ${status}) is the active intent now.\n\n${gate.context(sessionID)}`;
      },
    },
    list_intents: {
      description: 'List the intents of this workspace with their status and scope, and the one that you work for.',
      args: {},
      async execute(_args, { sessionID }) {
        const { intents, diagnostics } = gate.perform({ op: 'list-intents' });
        const active = gate.currentIntent(sessionID)?.id ?? null;
        return JSON.stringify({ active, intents, diagnostics }, null, 2);
      },
    },
    clear_active_intent: {
      description: 'Stop working for the active intent. Nothing can be changed until another one is selected.',
      args: {},
      async execute(_args, { sessionID }) {
        gate.clearIntent(sessionID);
        return 'No intent is active now.';
      },
    },
  };
}
