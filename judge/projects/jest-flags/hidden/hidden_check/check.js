'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const faults = [];
let seen = 0;
const is = (name, got, want) => {
  seen += 1;
  if (JSON.stringify(got) !== JSON.stringify(want)) faults.push(`${name}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
};
const thrown = (body) => {
  try {
    return body();
  } catch (error) {
    return error.message;
  }
};

async function main() {
  const { evaluate, explain, bucket, choose, compareVersions, Provider } = require('../src');

  const order = ['0.0.1', '0.0.2-1', '0.0.2-2', '0.0.2-10', '0.0.2-x', '0.0.2', '0.9.9', '0.20.0', '0.100.3', '0.1000.0', '1.0.0-beta.9', '1.0.0-beta.11', '1.0.0-beta.11.a', '3.7.99', '3.7.100', '20.0.0', '100.0.0'];
  order.forEach((a, i) => order.forEach((b, j) => is(`${a} ${b}`, Math.sign(compareVersions(a, b)), Math.sign(i - j))));
  is('equal', compareVersions('v4.05.6+a', '4.5.6'), 0);

  const flags = {
    gate: { on: true, off: 'n', fallthrough: 'n', rules: [{ when: [{ field: 'app', operator: 'atLeast', value: '0.99.0' }, { field: 'app', operator: 'below', value: '0.110.0' }], variant: 'y' }] },
    half: { on: true, off: 0, fallthrough: 3, salt: 's', needs: [{ flag: 'gate', value: 'y' }], rules: [{ when: [], split: [{ variant: 1, percent: 50 }] }, { when: [{ field: 'key', operator: 'notIn', value: ['k1', 'k2'] }], variant: 2 }] },
    self: { on: true, off: 0, fallthrough: 1, needs: [{ flag: 'self', value: 1 }] },
  };
  is('gate', ['0.98.9', '0.99.0', '0.109.7', '0.110.0', '0.110.0-rc.1', '0.9.0'].map((app) => evaluate(flags, 'gate', { key: 'k', app }).value), ['n', 'y', 'y', 'n', 'y', 'n']);
  is('half', evaluate(flags, 'half', { key: 'k1', app: '0.9.9' }), { value: 0, reason: 'needs gate' });
  for (let n = 0; n < 60; n++) {
    const key = `k${n}`;
    const want = bucket('s', key) < 5000 ? { value: 1, reason: 'rule 1' } : key === 'k1' || key === 'k2' ? { value: 3, reason: 'fallthrough' } : { value: 2, reason: 'rule 2' };
    is(key, evaluate(flags, 'half', { key, app: '0.100.0' }), want);
    const marked = explain(flags, 'half', { key, app: '0.100.0' }).split('\n').findIndex((line) => line.startsWith('* '));
    is(`mark of ${key}`, marked, { 'rule 1': 3, 'rule 2': 4, fallthrough: 5 }[want.reason]);
  }
  is('choose', [choose([{ variant: 'a', percent: 33.33 }], 3332), choose([{ variant: 'a', percent: 33.33 }], 3333)], ['a', null]);
  is('circle', thrown(() => evaluate(flags, 'self', { key: 'k' })), 'flags need one another: self > self');

  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'flags-'));
  const file = path.join(dir, 'flags.json');
  const put = (revision, value) => fs.writeFileSync(file, JSON.stringify({ revision, flags: { f: { on: true, fallthrough: value } } }));
  try {
    const provider = new Provider(file);
    put(7, 'seven');
    const began = Date.now();
    const state = async () => [provider.revision, (await provider.evaluate('f', { key: 'k' })).value, provider.problem === null];
    is('first', await state(), [null, 'seven', true]);
    put(6, 'six');
    await provider.refresh();
    is('older', await state(), [7, 'seven', true]);
    put(7, 'other');
    await provider.refresh();
    is('the same', await state(), [7, 'seven', true]);
    fs.writeFileSync(file, '{');
    await provider.refresh();
    is('broken', await state(), [7, 'seven', false]);
    put(12, 'twelve');
    await Promise.all([provider.refresh(), provider.refresh()]);
    is('newer', await state(), [12, 'twelve', true]);
    is('quick', Date.now() - began < 2500, true);
    is('missing', await new Provider(path.join(dir, 'no.json')).refresh().then(() => 'found', (error) => error.code), 'ENOENT');
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

main().then(
  () => {
    for (const fault of faults.slice(0, 10)) console.log(fault);
    console.log(`${seen} checked, ${faults.length} wrong`);
    process.exitCode = faults.length === 0 && seen === 421 ? 0 : 1;
  },
  (error) => {
    console.log(error);
    process.exitCode = 1;
  },
);
