'use strict';

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Delay before the attempt after the given one: base, 2*base, 4*base ... at most max. */
function backoff(attempt, base = 100, max = 5000) {
  return Math.min(max, base * 2 ** (attempt - 1));
}

/** Calls fn until it succeeds, refuses to be repeated, or was called `times` times. */
async function retry(fn, times, base, repeat = () => true) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fn(attempt);
    } catch (error) {
      if (attempt >= times || !repeat(error)) throw error;
      await sleep(backoff(attempt, base));
    }
  }
}

module.exports = { retry, backoff };
