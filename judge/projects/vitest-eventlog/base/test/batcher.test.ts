import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Batcher } from '../src/batcher.js';

describe('Batcher', () => {
  let batches: number[][];
  let batcher: Batcher<number>;

  beforeEach(() => {
    vi.useFakeTimers();
    batches = [];
    batcher = new Batcher<number>((items) => batches.push(items), { size: 4, delay: 100 });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('hands items on when there are enough', () => {
    for (const item of [1, 2, 3, 4, 5]) batcher.add(item);
    expect(batches).toEqual([[1, 2, 3, 4]]);
  });

  it('hands few items on when the oldest has waited', () => {
    batcher.add(1);
    vi.advanceTimersByTime(99);
    expect(batches).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(batches).toEqual([[1]]);
  });

  it('lets nobody wait longer because others come', () => {
    batcher.add(1);
    vi.advanceTimersByTime(60);
    batcher.add(2);
    vi.advanceTimersByTime(39);
    batcher.add(3);
    vi.advanceTimersByTime(1);
    expect(batches).toEqual([[1, 2, 3]]);
  });

  it('begins to wait anew after a full batch', () => {
    for (const item of [1, 2, 3, 4]) batcher.add(item);
    vi.advanceTimersByTime(90);
    batcher.add(5);
    vi.advanceTimersByTime(90);
    expect(batches).toEqual([[1, 2, 3, 4]]);
    vi.advanceTimersByTime(10);
    expect(batches).toEqual([[1, 2, 3, 4], [5]]);
  });

  it('flushes when told to, and has nothing left', () => {
    batcher.add(1);
    batcher.flush();
    batcher.flush();
    vi.advanceTimersByTime(1000);
    expect(batches).toEqual([[1]]);
  });
});
