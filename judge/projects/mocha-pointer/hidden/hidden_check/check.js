'use strict';

// Compares by itself, and keeps what it needs before the library is loaded.
const { stringify } = JSON;
const { exit } = process;
const write = process.stdout.write.bind(process.stdout);
const faults = [];
const sorted = (v) => (Array.isArray(v) ? v.map(sorted) : v !== null && typeof v === 'object' ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v);
let seen = 0;
function is(name, got, want) {
  seen += 1;
  if (stringify(sorted(got)) !== stringify(sorted(want))) faults.push(`${name}: got ${stringify(got)}, want ${stringify(want)}`);
}
function code(name, body, want) {
  let got = 'nothing';
  try {
    got = `value ${stringify(body())}`;
  } catch (error) {
    got = error.code;
  }
  is(name, got, want);
}

const { parse, format, get, has, apply, equal, diff, PointerError } = require('../dist/waypointer.js');

for (const tokens of [['~1'], ['~01', '0'], ['~~', '//'], ['/~', ''], ['x~0~1y'], ['', ''], ['~0/~1']]) {
  is('round trip', parse(format(tokens)), tokens);
}
is('tilde', parse('/~01/~001~1'), ['~1', '~01/']);
is('slash', parse('/~10'), ['/0']);
is('get', get({ 'p~1q': [[], { '/': 5 }] }, '/p~01q/1/~1'), 5);
code('syntax', () => parse('a/b'), 'SYNTAX');
code('error', () => { throw new PointerError('TEST', '/z'); }, 'TEST');
is('has', [has([1], '/0'), has([1], '/1'), has([1], '/-'), has({}, '/constructor')], [true, false, false, false]);

is('equal', equal({ q: [{ b: 1, a: { d: [], c: null } }], p: 0 }, { p: 0, q: [{ a: { c: null, d: [] }, b: 1 }] }), true);
for (const [a, b] of [[[1, 2, 3], [1, 3, 2]], [{ a: [1, 2] }, { a: [2, 1] }], [{ a: 1 }, { a: 1, b: 1 }], [{ a: 1, b: 1 }, { a: 1, c: 1 }], [[[]], [{}]], [1, '1'], [{ a: {} }, { a: null }]]) {
  is('unequal', [equal(a, b), equal(b, a)], [false, false]);
}

is('remove', apply({ a: [1, 2, 3], b: 1 }, [{ op: 'remove', path: '/a/0' }, { op: 'remove', path: '/b' }]), { a: [2, 3] });
code('remove behind a list', () => apply({ a: [1] }, [{ op: 'remove', path: '/a/-' }]), 'MISSING');
code('remove nothing', () => apply({ k: { l: 1 } }, [{ op: 'remove', path: '/k/m' }]), 'MISSING');
code('remove item', () => apply([[0]], [{ op: 'remove', path: '/0/5' }]), 'MISSING');
code('move nothing', () => apply({ k: 1 }, [{ op: 'move', from: '/n', path: '/o' }]), 'MISSING');
code('test', () => apply({ k: { z: 1, y: 2 } }, [{ op: 'test', path: '/k', value: { y: 2, z: 1 } }]), 'value {"k":{"z":1,"y":2}}');

// Documents made by a generator, each changed into each.
let state = 20240506;
const random = (n) => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor((state / 2147483648) * n);
};
const make = (depth) => {
  const kind = random(depth > 2 ? 2 : 4);
  if (kind === 0) return random(3);
  if (kind === 1) return ['x', '~', null, true][random(4)];
  if (kind === 2) return Array.from({ length: random(5) }, () => make(depth + 1));
  return Object.fromEntries(Array.from({ length: random(4) }, () => [['a', 'b/c', 'd~1', '~01', ''][random(5)], make(depth + 1)]));
};
const documents = Array.from({ length: 40 }, () => make(0));
for (const before of documents) {
  for (const after of documents) {
    const text = stringify(before);
    let got;
    try {
      got = apply(before, diff(before, after));
    } catch (error) {
      got = String(error);
    }
    is('diff', got, after);
    is('untouched', stringify(before), text);
  }
}
is('shrink', diff([5, 6, 7, 8], [5]).map((s) => s.path), ['/3', '/2', '/1']);

for (const fault of faults.slice(0, 20)) write(`${fault}\n`);
write(`${seen} checked, ${faults.length} wrong\n`);
exit(faults.length === 0 && seen > 3200 ? 0 : 1);
