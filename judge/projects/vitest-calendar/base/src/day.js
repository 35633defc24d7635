const DAY = 86_400_000;

/** Days are strings, 2024-02-29; all arithmetic is in UTC. */
export function addDays(day, count) {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * DAY).toISOString().slice(0, 10);
}

export function addMonths(day, count) {
  const [year, month, date] = day.split('-').map(Number);
  const index = year * 12 + month - 1 + count;
  const last = daysIn(Math.floor(index / 12), (index % 12) + 1);
  return [String(Math.floor(index / 12)).padStart(4, '0'), pad((index % 12) + 1), pad(Math.min(date, last))].join('-');
}

export function daysIn(year, month) {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

export function isLeap(year) {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** 1 is Monday, 7 is Sunday. */
export function weekday(day) {
  return new Date(`${day}T00:00:00Z`).getUTCDay() || 7;
}

const pad = (number) => String(number).padStart(2, '0');
