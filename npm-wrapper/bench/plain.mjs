// The same idea in plain JavaScript, as a first version would do it: intents from YAML, scopes as globs, a hash of the file, a line
// in a trace. It does not follow links, does not parse shell commands, does not know other sessions, and does not chain lines.

import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import * as path from 'node:path';

const folder = process.env.TOLLGATE_BASELINES;
if (folder === undefined) throw new Error('TOLLGATE_BASELINES is not set; `cargo xtask bench` sets it');
const require = createRequire(path.join(folder, 'package.json'));
const yaml = require('js-yaml');
const { minimatch } = require('minimatch');

const WRITES = new Set(['write', 'edit', 'Edit', 'Write']);
const SHELLS = new Set(['bash', 'Bash']);

/** Commands that change the files they name, with the position of those names. */
const CHANGING = /(?:^|[;&|]\s*)(?:sed\s+-i\s+\S+|rm|mv|cp|tee|touch)\s+(?<files>[^;&|]+)/g;

export class Plain {
  #workspace;
  #intents;
  #read = 0;
  #active = null;

  constructor(workspace) {
    this.#workspace = workspace;
  }

  setActiveIntent(id) {
    this.#active = id;
  }

  preToolUse(tool, args) {
    const paths = this.#paths(tool, args);
    if (paths.length === 0) return { allowed: true };
    if (this.#active === null) return { allowed: false, reason: 'No active intent. Call select_active_intent first.' };
    const intent = this.#find(this.#active);
    if (intent === undefined || ['COMPLETED', 'ABANDONED'].includes(intent.status)) {
      return { allowed: false, reason: `The intent ${this.#active} is not open.` };
    }
    for (const file of paths) {
      if (!intent.owned_scope.some((pattern) => minimatch(file, pattern, { dot: true }))) {
        return { allowed: false, reason: `Scope violation: ${file} is not owned by ${intent.id}.` };
      }
    }
    return { allowed: true, preHash: this.#hash(paths[0]) };
  }

  postToolUse(tool, args, preHash) {
    const [file] = this.#paths(tool, args);
    if (file === undefined) return;
    const entry = {
      id: crypto.randomUUID(),
      timestamp: new Date().toISOString(),
      intent_id: this.#active,
      tool_name: tool,
      file: { relative_path: file, pre_hash: preHash, post_hash: this.#hash(file) },
      success: true,
    };
    fs.appendFileSync(path.join(this.#workspace, '.orchestration/agent_trace.jsonl'), `${JSON.stringify(entry)}\n`);
  }

  #paths(tool, args) {
    if (WRITES.has(tool)) return [this.#relative(args.filePath ?? args.file_path)];
    if (!SHELLS.has(tool)) return [];
    const words = [...args.command.matchAll(CHANGING)].flatMap(({ groups }) => groups.files.trim().split(/\s+/));
    return words.map((word) => this.#relative(word));
  }

  #relative(file) {
    return path.relative(this.#workspace, path.resolve(this.#workspace, file));
  }

  #find(id) {
    const file = path.join(this.#workspace, '.orchestration/active_intents.yaml');
    const { mtimeMs } = fs.statSync(file);
    if (mtimeMs !== this.#read) {
      const read = yaml.load(fs.readFileSync(file, 'utf8'));
      this.#intents = read.active_intents ?? read;
      this.#read = mtimeMs;
    }
    return this.#intents.find((intent) => intent.id === id);
  }

  #hash(file) {
    try {
      const content = fs.readFileSync(path.join(this.#workspace, file));
      return `sha256:${createHash('sha256').update(content).digest('hex')}`;
    } catch {
      return null;
    }
  }
}
