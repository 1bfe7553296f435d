// `tollgate skills`: prompts under names.
import { type Cell, plain, say } from './output.js';
import { ask, onGate, type Opened, Stop } from './workspace.js';

const USAGE = `Usage: tollgate skills list|show NAME [NAME=VALUE]... [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list       List the skills: their parameters, what they are for, where they stand; exits with 1 if one cannot be used
  show NAME  Print the prompt of a skill; with parameters, filled in`;

interface Skill {
  name: string;
  description: string;
  file: string;
  parameters: { name: string; required: boolean }[];
}

export function main(args: string[]): Promise<number> {
  return onGate(args, {}, USAGE, (opened, [command, ...words]) => {
    // Where the workspace is decides which extensions a person has approved, and hooks tell that.
    opened.gate.hooks.greet();
    if (command === 'list' && words.length === 0) return list(opened);
    if (command === 'show' && words[0] !== undefined) return show(opened, words[0], words.slice(1));
    throw new Stop(`that cannot be understood\n${USAGE}`);
  });
}

function list({ gate, json, screen }: Opened): boolean {
  const answer = ask(gate, { op: 'skills', do: 'list' });
  const { skills, faults } = answer as unknown as {
    skills: Skill[];
    faults: { file: string; line: number; message: string }[];
  };
  if (json) screen.line(JSON.stringify(answer));
  else if (skills.length === 0 && faults.length === 0) {
    say('there are no skills; extensions bring them, and agent programs keep them in folders such as `.claude/skills`');
  } else {
    const titles = ['NAME', 'PARAMETERS', 'ABOUT', 'FILE'].map((title): Cell => [title, 'bold']);
    if (skills.length > 0) screen.rows([titles, ...skills.map(rowOf)]).forEach(screen.line);
    for (const { file, line, message } of faults)
      screen.line(`${plain(file)}:${line}: ${screen.paint('red', 'error')}: ${plain(message)}`);
  }
  return faults.length === 0;
}

function rowOf({ name, description, file, parameters }: Skill): Cell[] {
  const places = parameters.map((parameter) => (parameter.required ? parameter.name : `[${parameter.name}]`));
  return [[name], [places.join(' ')], [[...description].slice(0, 48).join('')], [file, 'dim']];
}

function show({ gate, json, screen }: Opened, id: string, parameters: string[]): boolean {
  const given: Record<string, string> = {};
  for (const parameter of parameters) {
    const at = parameter.indexOf('=');
    if (at < 0) throw new Stop(`\`${plain(parameter)}\` is not a parameter; write NAME=VALUE`);
    given[parameter.slice(0, at)] = parameter.slice(at + 1);
  }
  // Without parameters it is shown as it is written, with its places.
  const question = parameters.length === 0 ? { op: 'skills', do: 'show', id } : { op: 'skills', do: 'invoke', id, args: given };
  const answer = ask(gate, question);
  if (json) screen.line(JSON.stringify(answer));
  else for (const line of String(answer.prompt).replace(/\n$/, '').split('\n')) screen.line(plain(line));
  return true;
}
