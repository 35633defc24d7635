'use strict';

const DAY = 24 * 60 * 60 * 1000;

/** What the bank gets: who owes how much until when. A due date on a weekend moves to Monday. */
function statement(result, issued, days = 14) {
  const due = new Date(Date.parse(`${issued}T00:00:00Z`) + days * DAY);
  const weekday = due.getUTCDay();
  if (weekday === 6) due.setTime(due.getTime() + 2 * DAY);
  if (weekday === 0) due.setTime(due.getTime() + DAY);
  return { debtor: result.customer, reference: result.number, cents: result.total, due: due.toISOString().slice(0, 10) };
}

module.exports = { statement };
