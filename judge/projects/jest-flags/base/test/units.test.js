'use strict';

const { bucket, choose, hash } = require('../src/bucket');
const { compareVersions } = require('../src/version');

describe('versions', () => {
  const order = ['0.9.12', '1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-rc.2', '1.0.0', '1.2.0', '1.10.0', '2.4.0', '2.10.0', '10.0.0'];

  test.each(order.slice(1).map((version, at) => [order[at], version]))('%s stands before %s', (older, newer) => {
    expect(compareVersions(older, newer)).toBeLessThan(0);
    expect(compareVersions(newer, older)).toBeGreaterThan(0);
  });

  test('ignores a v and the build', () => {
    expect(compareVersions('v1.2.3', '1.2.3+2024')).toBe(0);
  });

  test.each(['', '1.2', '1.2.x', 'latest'])('refuses %j', (text) => {
    expect(() => compareVersions(text, '1.0.0')).toThrow('not a version');
  });
});

describe('buckets', () => {
  test.each([['', 0x811c9dc5], ['a', 0xe40c292c], ['foobar', 0xbf9cf968], ['ø', 0x0d9dcdfe]])('FNV-1a of %j', (text, want) => {
    expect(hash(text)).toBe(want);
  });

  test('flags are independent of one another', () => {
    const keys = Array.from({ length: 2000 }, (_, n) => `user-${n}`);
    const both = keys.filter((key) => bucket('one', key) < 5000 && bucket('two', key) < 5000).length;
    expect(both).toBeGreaterThan(400);
    expect(both).toBeLessThan(600);
  });

  test('a share ends where the next one begins', () => {
    const split = [{ variant: 'a', percent: 12.5 }, { variant: 'b', percent: 0.01 }];
    expect([0, 1249, 1250, 1251].map((at) => choose(split, at))).toEqual(['a', 'a', 'b', null]);
  });

  test('nobody is in a share of nothing', () => {
    expect(choose([{ variant: 'a', percent: 0 }, { variant: 'b', percent: 100 }], 0)).toBe('b');
  });
});
