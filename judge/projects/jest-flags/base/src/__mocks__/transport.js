'use strict';

// A transport in memory: tests say with give() what the next loads find. An Error is thrown.
let answers = [];

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const load = jest.fn(async () => {
  await wait(60);
  const answer = answers.length > 1 ? answers.shift() : answers[0];
  if (answer instanceof Error) throw answer;
  return structuredClone(answer);
});

function give(...list) {
  answers = list;
  load.mockClear();
}

module.exports = { load, give };
