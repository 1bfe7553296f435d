// The `tollgate` command. Agent programs wait for `tollgate hook` on every call, so each subcommand loads only what it needs.

import { runCommand } from './command.js';

const USAGE = `Usage: tollgate COMMAND

  hook PROGRAM [--event NAME]   Answer one event of an agent program: its JSON on standard input, the answer on standard output
  eval --workspace DIR          Answer JSON lines from standard input: one object in, one object out
  init [--host NAME] [--undo]   Connect the agent programs in use to the gate, or undo that
  doctor                        Check that agent programs really ask the gate
  mcp status|tools|call         List MCP servers and their tools, and call a tool through the gate
  mcp-proxy [SERVER...]         Serve the tools of MCP servers on standard input and output, with every call checked by the gate
  mcp-serve                     Serve intents and the ledger as tools of an MCP server on standard input and output
  intents list|check|sessions|select ID
                                List, check and select the intents that agents work for
  trace [list]|verify|export|map
                                List, verify and export what agents changed
  extensions list|show NAME|check
                                Show and check extensions, which provide hooks, MCP servers, settings and skills
  skills list|show NAME         List skills, and print the prompt of one

Exit codes: 0 success, 1 the answer is no, 2 failure.`;

const COMMANDS: Record<string, () => Promise<{ main(args: string[]): Promise<number> }>> = {
  hook: () => import('./hook.js'),
  eval: () => import('./eval.js'),
  init: () => import('./init.js'),
  doctor: () => import('./doctor.js'),
  mcp: () => import('./mcp_servers.js'),
  'mcp-proxy': () => import('./mcp_proxy.js'),
  'mcp-serve': () => import('./mcp_serve.js'),
  intents: () => import('./intents.js'),
  trace: () => import('./trace.js'),
  extensions: () => import('./extensions.js'),
  skills: () => import('./skills.js'),
};

async function run([name, ...args]: string[]): Promise<number> {
  const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command !== undefined) return (await command()).main(args);
  if (name === '--version' || name === '-V') {
    process.stdout.write(`tollgate ${TOLLGATE_VERSION} (component ${TOLLGATE_DIGEST})\n`);
    return 0;
  }
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  if (name !== undefined && !isHelp) {
    const fault = `the npm package has no command \`${name}\`; the native \`tollgate\` has more commands`;
    process.stderr.write(`tollgate: ${fault}\n`);
  }
  (isHelp ? process.stdout : process.stderr).write(`${USAGE}\n`);
  return isHelp ? 0 : 2;
}

runCommand(() => run(process.argv.slice(2)));
