'use strict';

// Answers in the order in which they were prepared.
const answers = [];

const send = jest.fn(async () => {
  if (answers.length === 0) throw new Error('mock transport: no answer prepared');
  const next = answers.shift();
  if (next instanceof Error) throw next;
  return { headers: {}, body: '', ...next };
});

module.exports = { send, prepare: (...list) => answers.push(...list), left: () => answers.length };
