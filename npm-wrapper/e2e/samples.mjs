// Samples of third-party hooks in the workspace of a session. `cargo test --package tollgate --test examples` builds them.
import * as fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../target/tmp/hooks/', import.meta.url));

/** Why a sample cannot be used here; false if it can. */
export function whyMissing(name) {
  return !fs.existsSync(`${folder}${name}.wasm`) && `the sample ${name} is not built`;
}

/** The files of a workspace that declares a sample as its hook `guard`. */
export function filesWithSample(name, settings = {}) {
  const hook = { id: 'guard', component: 'hooks/guard.wasm', settings };
  return {
    'hooks/guard.wasm': fs.readFileSync(`${folder}${name}.wasm`),
    '.tollgate/hooks.json': JSON.stringify({ hooks: [hook] }),
  };
}
