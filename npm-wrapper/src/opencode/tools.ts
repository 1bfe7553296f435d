// Tollgate's own tools, as tools of the OpenCode plugin.
import type { Tollgate } from '../api/index.js';
import { callOwnTool, listOwnTools } from '../api/own_tools.js';

/** A tool of the plugin. OpenCode takes the JSON Schema of each argument, and treats all of them as required. */
export interface PluginTool {
  description: string;
  args: Record<string, object>;
  execute(args: unknown, context: { sessionID: string }): Promise<string>;
}

/** Tollgate's own tools that have only required arguments. */
export function pluginTools(gate: Tollgate): Record<string, PluginTool> {
  const isPlain = ({ schema }: { schema: { properties: object; required: string[] } }) =>
    Object.keys(schema.properties).every((name) => schema.required.includes(name));
  const tool = ({ name, description, schema }: ReturnType<typeof listOwnTools>[number]): [string, PluginTool] => {
    const execute: PluginTool['execute'] = async (args, { sessionID }) => callOwnTool(gate, sessionID, name, args);
    return [name, { description, args: schema.properties, execute }];
  };
  return Object.fromEntries(listOwnTools(gate).filter(isPlain).map(tool));
}
