/** Exit code for what could not be done. */
export const FAILED = 2;

/** Runs a command for this process: its number is the exit code. */
export function runCommand(main: () => Promise<number>): void {
  // Nobody reads the answers any more, so there is nothing left to do.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : FAILED));
  process.stderr.on('error', () => {});
  // The programs of hooks are in groups of their own, so they go only if this process takes its leave of them.
  for (const [signal, number] of [
    ['SIGHUP', 1],
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    process.on(signal, () => process.exit(128 + number));
  }
  main().then(
    (code) => {
      process.exitCode = code;
    },
    (error: unknown) => {
      process.stderr.write(`tollgate: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = FAILED;
    },
  );
}
