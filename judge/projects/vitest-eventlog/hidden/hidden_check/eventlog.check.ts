import assert from 'node:assert/strict';
import { test, vi } from 'vitest';
import { Batcher, ConflictError, EventStore, Projection, Upcaster, renderSummary, renderTimeline } from './src/index.js';

const noted = (n: number) => ({ type: 'Noted', data: { n } });

test('writers who are late or early are refused', () => {
  const store = new EventStore(() => 7);
  assert.equal(store.append('s', [noted(1), noted(2), noted(3)], 'none'), 3);
  for (const expected of [0, 1, 2, 4, 99, 'none'] as const) {
    assert.throws(() => store.append('s', [noted(9)], expected), (error: unknown) => {
      assert.ok(error instanceof ConflictError);
      assert.equal(error.expected, expected);
      assert.equal(error.actual, 3);
      return true;
    });
  }
  assert.equal(store.append('s', [noted(4)], 3), 4);
  assert.equal(store.append('t', [noted(5)], 0), 1);
  assert.equal(store.append('s', [noted(6)]), 5);
  assert.deepEqual(store.readAll({ after: 3 }).map((e) => [e.position, e.stream, e.version, e.at]), [[4, 's', 4, 7], [5, 't', 1, 7], [6, 's', 5, 7]]);
  assert.deepEqual(store.read('s', { from: 4 }).map((e) => e.data.n), [4, 6]);
});

test('what was seen is never counted again', () => {
  const store = new EventStore();
  store.append('q', [noted(1), { type: 'Halved' }, noted(10)]);
  const projection = new Projection<number>(() => 0, { Noted: (sum, e) => sum + Number(e.data.n), Halved: (sum) => sum / 2, Seen: (sum) => sum + 1000 });
  for (const event of store.readAll()) {
    projection.apply(event);
    const before = projection.state;
    projection.apply(event);
    projection.apply(store.readAll()[0]!);
    assert.equal(projection.state, before);
  }
  assert.equal(projection.state, 10.5);
  store.append('r', [{ type: 'Seen' }, { type: 'Unknown' }]);
  assert.equal(projection.catchUp(store), 2);
  for (const event of store.readAll()) projection.apply(event);
  assert.equal(projection.state, 1010.5);
  assert.equal(projection.checkpoint, 5);
});

test('upcasters', () => {
  const store = new EventStore();
  store.append('u', [noted(3)]);
  const upgraded = new Upcaster().from('Noted', 1, (d) => ({ m: d.n })).upgrade(store.read('u')[0]!);
  assert.deepEqual(upgraded.data, { m: 3, schema: 2 });
});

test('nobody waits longer than the delay', () => {
  vi.useFakeTimers();
  try {
    const out: string[] = [];
    const batcher = new Batcher<string>((items) => out.push(items.join('')), { size: 50, delay: 1000 });
    for (let i = 0; i < 26; i++) {
      batcher.add(String.fromCharCode(97 + i));
      vi.advanceTimersByTime(100);
    }
    vi.advanceTimersByTime(399);
    assert.deepEqual(out, ['abcdefghij', 'klmnopqrst']);
    vi.advanceTimersByTime(1);
    assert.deepEqual(out, ['abcdefghij', 'klmnopqrst', 'uvwxyz']);
    batcher.add('!');
    batcher.flush();
    batcher.add('?');
    vi.advanceTimersByTime(999);
    assert.equal(out.length, 4);
    vi.advanceTimersByTime(1);
    assert.deepEqual(out.slice(3), ['!', '?']);
  } finally {
    vi.useRealTimers();
  }
});

test('tables', () => {
  const store = new EventStore();
  store.append('z', [{ type: 'Measured', data: { zoom: [1], alpha: 'a', Mid: null } }]);
  store.append('long-name', [{ type: 'M' }]);
  assert.equal(renderTimeline(store.readAll()), '#  stream       type      data\n1  z@1          Measured  Mid=null alpha="a" zoom=[1]\n2  long-name@1  M\n');
  assert.equal(renderSummary(store.readAll()), 'stream     events\nlong-name  M\nz          Measured\n');
});
