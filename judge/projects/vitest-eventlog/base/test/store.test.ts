import { describe, expect, it } from 'vitest';
import { ConflictError, EventStore } from '../src/store.js';
import { bank, clock, deposited, opened } from './support/bank.js';

describe('append', () => {
  it('counts positions over all streams and versions within one', () => {
    const places = bank().readAll().map(({ position, stream, version }) => `${position} ${stream}@${version}`);
    expect(places).toEqual([
      '1 account-1@1', '2 account-1@2', '3 account-2@1', '4 account-1@3',
      '5 accounting-2024@1', '6 account-2@2', '7 account-2@3',
    ]);
  });

  it('refuses a writer who has not seen the latest version', () => {
    const store = bank();
    expect(() => store.append('account-1', [deposited(1)], 2)).toThrow(ConflictError);
    expect(() => store.append('account-1', [deposited(1)], 4)).toThrow('account-1 is at version 3, expected 4');
    expect(store.version('account-1')).toBe(3);
  });

  it('refuses to create a stream twice', () => {
    const store = bank();
    expect(() => store.append('account-1', [opened('mill')], 'none')).toThrow(ConflictError);
    expect(store.append('account-3', [opened('mill')], 'none')).toBe(1);
  });

  it('asks nothing of a writer who does not care', () => {
    expect(bank().append('account-1', [deposited(1)])).toBe(4);
  });

  it('gives the events of one call the same time', () => {
    const store = new EventStore(clock(0));
    store.append('a', [opened('x'), deposited(1)]);
    store.append('a', [deposited(2)]);
    expect(store.read('a').map((event) => event.at)).toEqual([0, 0, 60_000]);
  });

  it('keeps a copy of the data', () => {
    const store = new EventStore();
    const event = deposited(1);
    store.append('a', [event]);
    event.data!.amount = 1000;
    expect(store.read('a')[0]!.data).toEqual({ amount: 1 });
  });
});

describe('read', () => {
  it('begins at a version and ends after a number of events', () => {
    expect(bank().read('account-2', { from: 2, limit: 1 }).map((event) => event.data)).toEqual([{ amount: 75 }]);
    expect(bank().read('nobody')).toEqual([]);
  });

  it('reads a category of streams behind a position', () => {
    const found = bank().readAll({ category: 'account', after: 2 });
    expect(found.map((event) => event.position)).toEqual([3, 4, 6, 7]);
  });
});
