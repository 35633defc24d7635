// Asks the Node part what check.py has written down.
import { readFileSync } from 'node:fs';
import { evaluateAll, matches } from '../node/src/rules.js';

let bad = 0;
function want(what, wanted, got) {
  if (JSON.stringify(wanted) !== JSON.stringify(got)) {
    bad = 1;
    console.log(`${what}: want ${JSON.stringify(wanted)} got ${JSON.stringify(got)}`);
  }
}

const { flags, asks } = JSON.parse(readFileSync(new URL('asked.json', import.meta.url), 'utf8'));
for (const ask of asks) {
  want(JSON.stringify(ask.context), ask.want, evaluateAll(flags, ask.context));
}
for (const [pattern, got, answer] of [
  ['<1', undefined, false], ['<0.1', null, false], ['>=0', undefined, false],
  ['<10', '9.99', true], ['>=10', '9.99', false], ['>=1.2', '1.2.0', true], ['<1.2.0', '1.2', false],
]) {
  want(`${got} ${pattern}`, answer, matches(pattern, got));
}
process.exit(bad);
