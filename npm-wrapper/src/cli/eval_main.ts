import { main } from './eval.js';
import { runCommand } from './command.js';

// `node dist/eval.js` is the same as `tollgate eval`.
runCommand(() => main(process.argv.slice(2)));
