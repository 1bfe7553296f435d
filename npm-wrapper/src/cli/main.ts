// The command `tollgate`. A program waits for `tollgate hook` at every call, so each command loads what it needs, and no more.

import { runCommand } from './command.js';

const USAGE = `Usage: tollgate COMMAND

  hook PROGRAM [--event NAME]   Answer one event of an agent program: its JSON on standard input, the answer on standard output
  eval --workspace DIR          Answer JSON lines from standard input: one object in, one object out
  init [--host NAME] [--undo]   Wire the agent programs in use to the gate, once you have seen how; or take it back
  doctor                        Prove that each of them really asks the gate
  mcp-serve                     Offer intents and ledger as tools of an MCP server, on standard input and output
  intents list|check|sessions|select ID
                                Show, check and select what the agents work for
  trace [list]|verify|export|map
                                Show, check and export what the agents changed

Exit codes: 0 done, 1 the answer is no, 2 it could not be done.`;

const COMMANDS: Record<string, () => Promise<{ main(args: string[]): Promise<number> }>> = {
  hook: () => import('./hook.js'),
  eval: () => import('./eval.js'),
  init: () => import('./init.js'),
  doctor: () => import('./doctor.js'),
  'mcp-serve': () => import('./mcp_serve.js'),
  intents: () => import('./intents.js'),
  trace: () => import('./trace.js'),
};

async function run([name, ...args]: string[]): Promise<number> {
  const command = name !== undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (command !== undefined) return (await command()).main(args);
  if (name === '--version' || name === '-V') {
    process.stdout.write(`tollgate ${TOLLGATE_VERSION} (component ${TOLLGATE_DIGEST})\n`);
    return 0;
  }
  const isHelp = name === '--help' || name === '-h' || name === 'help';
  if (name !== undefined && !isHelp) process.stderr.write(`tollgate: there is no command \`${name}\`\n`);
  (isHelp ? process.stdout : process.stderr).write(`${USAGE}\n`);
  return isHelp ? 0 : 2;
}

runCommand(() => run(process.argv.slice(2)));
