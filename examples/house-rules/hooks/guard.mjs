// A hook: reads the event on standard input, and answers on standard output. It stops calls that name a protected file.
import { protectedIn } from './protected.mjs';

let input = '';
for await (const chunk of process.stdin) input += chunk;
const { data } = JSON.parse(input);
const file = protectedIn(JSON.stringify(data.args ?? {}), process.env.HOUSE_RULES_PROTECTED ?? '');
if (file !== undefined) {
  console.log(JSON.stringify({ continue: false, systemMessage: `${file} is protected by the rules of the house; leave it as it is.` }));
}
