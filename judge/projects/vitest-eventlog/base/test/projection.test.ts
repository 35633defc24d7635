import { describe, expect, it } from 'vitest';
import { Projection } from '../src/projection.js';
import { Upcaster } from '../src/upcast.js';
import { bank, deposited, opened } from './support/bank.js';

type Balances = Record<string, number>;

function balances(upcaster?: Upcaster): Projection<Balances> {
  const book = (sign: number) => (state: Balances, event: { stream: string; data: Record<string, unknown> }) => ({
    ...state, [event.stream]: (state[event.stream] ?? 0) + sign * Number(event.data.amount),
  });
  return new Projection<Balances>(() => ({}), { Deposited: book(1), Withdrawn: book(-1) }, upcaster);
}

describe('Projection', () => {
  it('folds the log', () => {
    const projection = balances();
    expect(projection.catchUp(bank())).toBe(7);
    expect(projection.state).toEqual({ 'account-1': 380, 'account-2': 100 });
    expect(projection.checkpoint).toBe(7);
  });

  it('reads only what is new', () => {
    const store = bank();
    const projection = balances();
    projection.catchUp(store);
    store.append('account-2', [deposited(11)]);
    expect(projection.catchUp(store)).toBe(1);
    expect(projection.catchUp(store)).toBe(0);
    expect(projection.state['account-2']).toBe(111);
  });

  it('does not count an event twice that is delivered again', () => {
    const store = bank();
    const projection = balances();
    projection.catchUp(store);
    for (const event of store.read('account-2')) projection.apply(event);
    expect(projection.state).toEqual({ 'account-1': 380, 'account-2': 100 });
    expect(projection.checkpoint).toBe(7);
  });

  it('starts again after a rewind', () => {
    const projection = balances();
    projection.catchUp(bank());
    projection.rewind();
    expect(projection.state).toEqual({});
    expect(projection.catchUp(bank())).toBe(7);
  });
});

describe('Upcaster', () => {
  const inCents = () => {
    const upcaster = new Upcaster();
    upcaster.from('Deposited', 1, (data) => ({ cents: Number(data.amount) * 100 }));
    return upcaster.from('Deposited', 2, (data) => ({ amount: data.cents, currency: 'EUR' }));
  };

  it('takes every step from the schema of an event on', () => {
    const store = bank();
    store.append('new', [{ type: 'Deposited', data: { schema: 2, cents: 7 } }, opened('x')]);
    const [old, recent, other] = [store.read('account-2')[1]!, ...store.read('new')].map((e) => inCents().upgrade(e));
    expect(old!.data).toEqual({ schema: 3, amount: 7500, currency: 'EUR' });
    expect(recent!.data).toEqual({ schema: 3, amount: 7, currency: 'EUR' });
    expect(other!.data).toEqual({ owner: 'x' });
  });

  it('works below a projection', () => {
    const projection = balances(inCents());
    projection.catchUp(bank());
    expect(projection.state).toEqual({ 'account-1': 49_880, 'account-2': 10_000 });
  });
});
