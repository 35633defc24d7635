'use strict';

const { retry, backoff } = require('../src/retry');

describe('backoff', () => {
  test('doubles', () => {
    expect([1, 2, 3, 4].map((attempt) => backoff(attempt, 100))).toEqual([100, 200, 400, 800]);
  });

  test('has an upper limit', () => {
    expect(backoff(30, 100)).toBe(5000);
  });
});

describe('retry', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  test('waits between attempts', async () => {
    const fn = jest.fn().mockRejectedValueOnce(new Error('1')).mockRejectedValueOnce(new Error('2')).mockResolvedValue('done');
    const result = retry(fn, 5, 1000);
    await jest.advanceTimersByTimeAsync(999);
    expect(fn).toHaveBeenCalledTimes(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(fn).toHaveBeenCalledTimes(2);
    await jest.advanceTimersByTimeAsync(1999);
    expect(fn).toHaveBeenCalledTimes(2);
    await jest.advanceTimersByTimeAsync(1);
    await expect(result).resolves.toBe('done');
    expect(fn).toHaveBeenCalledTimes(3);
  });

  test('throws the last error', async () => {
    const result = retry((attempt) => Promise.reject(new Error(`no ${attempt}`)), 3, 10);
    const caught = expect(result).rejects.toThrow('no 3');
    await jest.runAllTimersAsync();
    await caught;
  });
});
