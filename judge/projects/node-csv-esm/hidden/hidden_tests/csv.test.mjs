import test from 'node:test';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

// The library runs in a process of its own, which prints what it got.
function run(body, input = '') {
  const script = `import { parse, stringify, infer } from './src/index.js'; import { CsvStream } from './src/stream.js';
    import { writeSync } from 'node:fs'; const print = JSON.stringify.bind(JSON); const out = await (async () => { ${body} })(); writeSync(1, print(out));`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8', input, env: { PATH: process.env.PATH } }));
}
const parsed = (text, options = {}) => run(`return parse(${JSON.stringify(text)}, ${JSON.stringify(options)})`);

test('quotes', () => {
  assert.deepEqual(parsed('"a""b","""","",x\n"""y"""\n'), [['a"b', '"', '', 'x'], ['"y"']]);
  assert.deepEqual(parsed('1,"a\r\nb"\r\n'), [['1', 'a\r\nb']]);
});
test('line ends', () => {
  assert.deepEqual(parsed('a,b\r\nc,"d"\r\n\r\ne,f'), [['a', 'b'], ['c', 'd'], ['e', 'f']]);
});
test('errors', () => {
  assert.equal(run('try { parse(\'x\\n\\n"a" b\'); } catch (e) { return e.message }'), 'line 3: text after a closing quote');
});
test('infer', () => {
  assert.deepEqual(run("return infer([{ a: '007', b: '1e3', c: '-0.50' }, { a: '8', b: '2', c: '' }])"), [{ a: '007', b: '1e3', c: -0.5 }, { a: '8', b: '2', c: null }]);
});
test('speed', () => {
  const spent = run("const t = 'y'.repeat(3000) + '\"\"'; const text = '\"' + t.repeat(7) + '\"\\n'; const t0 = process.hrtime.bigint(); parse(text); return Number(process.hrtime.bigint() - t0) / 1e6");
  assert.ok(spent < 900, String(spent));
});
test('stream', () => {
  const body = `const s = new CsvStream(); const all = s.toArray(); const b = Buffer.from('ä,"ö""ü"\\n€,1\\n');
    for (const byte of b) s.write(Buffer.from([byte])); s.end(); return all`;
  assert.deepEqual(run(body), [['ä', 'ö"ü'], ['€', '1']]);
});
