// Reports skipped tests of Node's test runner, in addition to its usual output.
import { reportSkip } from './skip.mjs';

export default async function* report(events) {
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.skip !== undefined) reportSkip(typeof data.skip === 'string' ? data.skip : data.name);
    yield '';
  }
}
