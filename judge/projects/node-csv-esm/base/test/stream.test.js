import test from 'node:test';
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { CsvStream } from 'commakit/stream';

const collect = (...parts) => Readable.from(parts.map((part) => Buffer.from(part)), { objectMode: false }).pipe(new CsvStream()).toArray();

test('gives rows', async () => {
  assert.deepEqual(await collect('a,b\n1,2\n'), [['a', 'b'], ['1', '2']]);
});

test('does not mind where the pieces end', async () => {
  const bytes = Buffer.from('"Zürich ""x""",1\nÖ,"2\n3"\n');
  for (let cut = 1; cut < bytes.length; cut++) {
    const rows = await collect(bytes.subarray(0, cut), bytes.subarray(cut));
    assert.deepEqual(rows, [['Zürich "x"', '1'], ['Ö', '2\n3']], `cut at ${cut}`);
  }
});

test('fails where the text ends in a quote', async () => {
  const stream = Readable.from([Buffer.from('a\n"b')], { objectMode: false });
  const rows = new CsvStream();
  stream.pipe(rows);
  await assert.rejects(rows.toArray(), /line 2: a quote is never closed/);
});
