// Generates the JavaScript code of a component.
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { $init, generate } from '@bytecodealliance/jco-transpile/component';

/** Generates the JavaScript code of a component, after checking its bytes against the digest. */
export async function transpile(file: string, hex: string, folder: string): Promise<void> {
  const bytes = fs.readFileSync(file);
  if (createHash('sha256').update(bytes).digest('hex') !== hex) {
    throw new Error('its stored copy is not what was approved; approve it again');
  }
  // The transpiler would accept the text format, too.
  if (bytes.readUInt32BE(0) !== 0x0061736d) throw new Error('it is not a component');
  await $init;
  const { files } = generate(bytes, {
    name: 'hook',
    instantiation: { tag: 'sync' },
    map: [],
    noTypescript: true,
    noNodejsCompat: true,
    noNamespacedExports: false,
    base64Cutoff: 0,
    multiMemory: false,
    validLiftingOptimization: false,
  });
  for (const [name, content] of files) {
    if (name === 'hook.js') continue;
    if (!/^hook\.core\d*\.wasm$/.test(name)) continue;
    fs.writeFileSync(path.join(folder, name), content, { mode: 0o600 });
  }
  // Last, because its presence means that the other files are complete.
  const code = files.find(([name]) => name === 'hook.js')?.[1];
  if (code === undefined) throw new Error('the transpiler wrote no code');
  fs.writeFileSync(path.join(folder, 'hook.mjs'), code, { mode: 0o600 });
}
