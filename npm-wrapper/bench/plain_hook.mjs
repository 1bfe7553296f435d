// A command hook as a Node script: what an agent program would run instead of `tollgate hook`, with the plain algorithm.

import * as fs from 'node:fs';
import { Plain } from './plain.mjs';

const payload = JSON.parse(fs.readFileSync(0, 'utf8'));
const plain = new Plain(payload.cwd);
plain.setActiveIntent('INT-0');
const { allowed, reason } = plain.preToolUse(payload.tool_name, payload.tool_input);
const decision = { permissionDecision: allowed ? 'allow' : 'deny', permissionDecisionReason: reason };
console.log(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } }));
