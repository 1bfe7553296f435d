import { main } from './cli/eval.js';
import { runCommand } from './cli/command.js';

// `node dist/eval.js` is `tollgate eval`.
runCommand(() => main(process.argv.slice(2)));
