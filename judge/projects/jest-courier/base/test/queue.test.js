'use strict';

const { Queue } = require('../src/queue');

const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

test('keeps the limit', async () => {
  const queue = new Queue(2);
  let now = 0;
  let most = 0;
  const job = async () => {
    now += 1;
    most = Math.max(most, now);
    await tick();
    now -= 1;
  };
  await Promise.all(Array.from({ length: 9 }, () => queue.add(job)));
  expect(most).toBe(2);
});

test('keeps the order', async () => {
  const queue = new Queue(1);
  const seen = [];
  await Promise.all(['a', 'b', 'c'].map((name) => queue.add(async () => seen.push(name))));
  expect(seen).toEqual(['a', 'b', 'c']);
});

test('goes on after a failed job', async () => {
  const queue = new Queue(1);
  const failed = queue.add(() => Promise.reject(new Error('broken')));
  const fine = queue.add(async () => 'fine');
  await expect(failed).rejects.toThrow('broken');
  await expect(fine).resolves.toBe('fine');
});
