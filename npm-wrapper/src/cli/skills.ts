// `tollgate skills`: lists and shows named prompts.
import type { Skill } from '../api/own_tools.js';
import { type Cell, escape, say } from './output.js';
import { ask, withGate, type OpenGate, CommandError } from './workspace.js';

const USAGE = `Usage: tollgate skills list|show NAME [NAME=VALUE]... [--workspace DIR] [--home DIR] [--state DIR] [--json]

  list       List the skills with their parameters, purpose and file; exits with 1 if one is not valid
  show NAME  Print the prompt of a skill, with the parameters filled in if any are given`;

/** A skill in the gate's list. */
interface ListedSkill extends Skill {
  file: string;
}

export function main(args: string[]): Promise<number> {
  return withGate(args, {}, USAGE, (opened, [command, ...words]) => {
    if (command === 'list' && words.length === 0) return list(opened);
    if (command === 'show' && words[0] !== undefined) return show(opened, words[0], words.slice(1));
    throw new CommandError(`invalid arguments\n${USAGE}`);
  });
}

function list({ gate, json, output }: OpenGate): boolean {
  const answer = ask(gate, { op: 'skills', do: 'list' });
  const { skills, faults } = answer as unknown as {
    skills: ListedSkill[];
    faults: { file: string; line: number; message: string }[];
  };
  if (json) output.line(JSON.stringify(answer));
  else if (skills.length === 0 && faults.length === 0) {
    say('there are no skills; extensions provide them, and agent programs store them in folders such as `.claude/skills`');
  } else {
    const titles = ['NAME', 'PARAMETERS', 'ABOUT', 'FILE'].map((title): Cell => [title, 'bold']);
    if (skills.length > 0) output.rows([titles, ...skills.map(rowOf)]).forEach(output.line);
    for (const { file, line, message } of faults)
      output.line(`${escape(file)}:${line}: ${output.paint('red', 'error')}: ${escape(message)}`);
  }
  return faults.length === 0;
}

function rowOf({ name, description, file, parameters }: ListedSkill): Cell[] {
  const places = parameters.map((parameter) => (parameter.required ? parameter.name : `[${parameter.name}]`));
  return [[name], [places.join(' ')], [[...description].slice(0, 48).join('')], [file, 'dim']];
}

function show({ gate, json, output }: OpenGate, id: string, parameters: string[]): boolean {
  const given: Record<string, string> = {};
  for (const parameter of parameters) {
    const at = parameter.indexOf('=');
    if (at < 0) throw new CommandError(`\`${escape(parameter)}\` is not a parameter; write NAME=VALUE`);
    given[parameter.slice(0, at)] = parameter.slice(at + 1);
  }
  // Without parameters, the prompt is shown with its placeholders.
  const question = parameters.length === 0 ? { op: 'skills', do: 'show', id } : { op: 'skills', do: 'invoke', id, args: given };
  const answer = ask(gate, question);
  if (json) output.line(JSON.stringify(answer));
  else for (const line of String(answer.prompt).replace(/\n$/, '').split('\n')) output.line(escape(line));
  return true;
}
