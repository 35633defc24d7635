// The rules that we agreed on, for src and test: node scripts/lint.mjs
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LIMIT = 120;

const rules = {
  'no tabs': (line) => line.includes('\t'),
  'no blanks at the end': (line) => /\s$/.test(line),
  'a semicolon is missing': (line) => /^\s*(?:return\b|throw\b|import\b|const\b|let\b).*[\w)\]'"`]$/.test(line) && balanced(line),
  'the line is too long': (line) => line.length > LIMIT,
  'no console in src': (line, file) => file.startsWith('src') && /\bconsole\./.test(line),
  'no test may stand alone': (line) => /\b(?:it|test|describe)\.only\(/.test(line),
};

function balanced(line) {
  const count = (characters) => [...line].filter((c) => characters.includes(c)).length;
  return count('([{') === count(')]}') && count('`') % 2 === 0;
}

function* sources(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (path.endsWith('.ts')) yield path;
  }
}

let found = 0;
for (const dir of ['src', 'test']) {
  for (const file of sources(dir)) {
    readFileSync(file, 'utf8').split('\n').forEach((line, index) => {
      for (const [name, breaks] of Object.entries(rules)) {
        if (!breaks(line, file)) continue;
        console.error(`${file}:${index + 1}: ${name}`);
        found += 1;
      }
    });
  }
}
console.log(found === 0 ? 'lint: nothing found' : `lint: ${found} found`);
process.exitCode = found === 0 ? 0 : 1;
