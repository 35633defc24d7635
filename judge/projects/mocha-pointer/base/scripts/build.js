'use strict';

// Puts the files of src into one: dist/waypointer.js. Each file says in its first line what it gives away: // exports: a, b
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..');
const PARTS = ['pointer.js', 'patch.js', 'diff.js'];

function part(name) {
  const [first, ...lines] = fs.readFileSync(path.join(root, 'src', name), 'utf8').split('\n');
  const match = /^\/\/ exports: (.+)$/.exec(first);
  if (!match) throw new Error(`src/${name}: the first line does not say what is exported`);
  return { name, names: match[1].split(', '), text: lines.join('\n').trim() };
}

function errors() {
  const table = JSON.parse(fs.readFileSync(path.join(root, 'src', 'errors.json'), 'utf8'));
  const rows = Object.keys(table).sort().map((code) => `  ${code}: ${JSON.stringify(table[code])},`);
  return `const ERRORS = Object.freeze({\n${rows.join('\n')}\n});`;
}

function bundle(version) {
  const parts = PARTS.map(part);
  const names = ['ERRORS', ...parts.flatMap((one) => one.names)];
  return [
    `// waypointer ${version}: made by scripts/build.js, do not edit`,
    "'use strict';",
    errors(),
    ...parts.map((one) => `// --- ${one.name}\n${one.text}`),
    `module.exports = { ${names.join(', ')} };`,
  ].join('\n\n');
}

const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const text = `${bundle(version)}\n`;
fs.mkdirSync(path.join(root, 'dist'), { recursive: true });
fs.writeFileSync(path.join(root, 'dist', 'waypointer.js'), text);
console.log(`built dist/waypointer.js, ${text.split('\n').length - 1} lines`);
