import { afterEach, beforeEach, vi } from 'vitest';

// Every test lives on the same day.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date('2024-02-28T12:00:00Z') });
});

afterEach(() => {
  vi.useRealTimers();
});
