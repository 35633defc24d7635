'use strict';

// House rules that are too small for a linter of their own.
const fs = require('node:fs');
const path = require('node:path');

const { rules, ignore } = require('./lint.json');

function files(dir) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((item) => {
    const name = path.posix.join(dir, item.name);
    return item.isDirectory() ? files(name) : name.endsWith('.js') ? [name] : [];
  });
}

let problems = 0;
function report(file, line, text) {
  problems += 1;
  console.log(`${file}:${line}: ${text}`);
}

for (const dir of ['lib', 'bin', 'test']) {
  for (const file of files(dir)) {
    if (ignore.includes(file)) continue;
    const lines = fs.readFileSync(file, 'utf8').split('\n');
    if (rules.strict && !lines.slice(0, 2).some((line) => line === "'use strict';")) report(file, 1, "no 'use strict'");
    lines.forEach((line, index) => {
      if (rules.blanks && /[ \t]$/.test(line)) report(file, index + 1, 'blank at the end of the line');
      if (rules.console && dir === 'lib' && /console\.\w+\(/.test(line)) report(file, index + 1, 'console in the library');
      if (rules.width && line.length > rules.width) report(file, index + 1, `longer than ${rules.width}`);
    });
  }
}
console.log(problems === 0 ? 'lint: clean' : `lint: ${problems} problem(s)`);
process.exitCode = problems === 0 ? 0 : 1;
