import { EventStore, type NewEvent } from '../../src/store.js';

export const opened = (owner: string): NewEvent => ({ type: 'Opened', data: { owner } });
export const deposited = (amount: number): NewEvent => ({ type: 'Deposited', data: { amount } });
export const withdrawn = (amount: number, reason?: string): NewEvent => ({
  type: 'Withdrawn', data: { ...(reason && { reason }), amount },
});

/** A clock that stands: a minute passes with each question. */
export function clock(start = Date.UTC(2024, 4, 6, 8)): () => number {
  let minutes = 0;
  return () => start + 60_000 * minutes++;
}

/** Two accounts and a vault, seven events. */
export function bank(): EventStore {
  const store = new EventStore(clock());
  store.append('account-1', [opened('harbour'), deposited(500)], 'none');
  store.append('account-2', [opened('mill')], 'none');
  store.append('account-1', [withdrawn(120, 'rope')], 2);
  store.append('accounting-2024', [{ type: 'YearClosed' }]);
  store.append('account-2', [deposited(75), deposited(25)], 1);
  return store;
}
