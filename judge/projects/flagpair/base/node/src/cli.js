// Answers the questions of a file: node src/cli.js FILE
import { readFileSync } from 'node:fs';
import { evaluateAll } from './rules.js';

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error('usage: cli.js FILE');
  process.exit(2);
}
const { flags, asks } = JSON.parse(readFileSync(file, 'utf8'));
asks.forEach(({ context }, number) => {
  for (const [name, value] of Object.entries(evaluateAll(flags, context))) {
    console.log(`${number} ${name} ${JSON.stringify(value)}`);
  }
});
