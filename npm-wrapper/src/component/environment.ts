import { spawnSync } from 'node:child_process';
import type * as contract from '../../generated/interfaces/tollgate-hooks-environment.js';

/** The variables of the environment, by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Under which service the secrets are kept. */
const SERVICE = 'tollgate';

/** A keyring that is locked asks a person; longer nobody waits for them. */
const PATIENCE_MS = 10_000;

/** The import `tollgate:hooks/environment`: single values, by names that somebody has declared. */
export function environmentImport(variables: Variables): typeof contract {
  return {
    variables: (names) => names.map((name) => (Object.hasOwn(variables, name) ? variables[name] : undefined)),
    secrets: (names) => names.map(secretOf),
  };
}

/** A secret in the system's keyring, asked for with the program that comes with the system; on Windows there is none. */
function secretOf(name: string): string | undefined {
  const [program, ...words] =
    process.platform === 'darwin'
      ? ['/usr/bin/security', 'find-generic-password', '-s', SERVICE, '-a', name, '-w']
      : process.platform === 'linux' && process.env.DBUS_SESSION_BUS_ADDRESS
        ? ['/usr/bin/secret-tool', 'lookup', 'service', SERVICE, 'account', name]
        : [];
  if (program === undefined) return undefined;
  const { status, stdout } = spawnSync(program, words, {
    encoding: 'utf8',
    timeout: PATIENCE_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const secret = status === 0 ? stdout.replace(/\n$/, '') : '';
  return secret === '' ? undefined : secret;
}
