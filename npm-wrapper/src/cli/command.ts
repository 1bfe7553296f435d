/** The exit code for failures. */
export const FAILURE_EXIT_CODE = 2;

/** Runs a command as the main function of this process: its result is the exit code. */
export function runCommand(main: () => Promise<number>): void {
  // The reader of the output is gone, so there is nothing left to do.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : FAILURE_EXIT_CODE));
  process.stderr.on('error', () => {});
  // Programs of hooks have their own process groups, so they only end if this process exits normally.
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
      process.exitCode = FAILURE_EXIT_CODE;
    },
  );
}
