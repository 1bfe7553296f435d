// The import tollgate:hooks/environment: environment variables, and secrets from the system's keyring.
import { spawnSync } from 'node:child_process';
import type * as contract from '../../generated/interfaces/tollgate-hooks-environment.js';

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** The keyring service that secrets are stored under. */
const SERVICE = 'tollgate';

/** A locked keyring asks the person for a password; this is how long to wait for it. */
const TIMEOUT_MS = 10_000;

/** The import `tollgate:hooks/environment`: individual values, by names that a manifest declares. */
export function environmentImport(variables: Variables): typeof contract {
  return {
    variables: (names) => names.map((name) => (Object.hasOwn(variables, name) ? variables[name] : undefined)),
    secrets: (names) => names.map(readSecret),
  };
}

/** Reads a secret from the system's keyring with the system's own program. Windows has none. */
function readSecret(name: string): string | undefined {
  const [program, ...words] =
    process.platform === 'darwin'
      ? ['/usr/bin/security', 'find-generic-password', '-s', SERVICE, '-a', name, '-w']
      : process.platform === 'linux' && process.env.DBUS_SESSION_BUS_ADDRESS
        ? ['/usr/bin/secret-tool', 'lookup', 'service', SERVICE, 'account', name]
        : [];
  if (program === undefined) return undefined;
  const { status, stdout } = spawnSync(program, words, {
    encoding: 'utf8',
    timeout: TIMEOUT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const secret = status === 0 ? stdout.replace(/\n$/, '') : '';
  return secret === '' ? undefined : secret;
}
