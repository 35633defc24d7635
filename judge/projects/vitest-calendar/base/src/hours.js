import { weekday } from './day.js';

const minutes = (time) => {
  const [hour, minute] = time.split(':').map(Number);
  return hour * 60 + minute;
};

/** Hours of a day: a holiday replaces the weekday. Spans: [['09:00', '12:00'], ['22:00', '02:00']]. */
export function hoursOf(plan, day) {
  return plan.holidays?.[day] ?? plan.week[weekday(day)] ?? [];
}

/** Whether it is open at the time; a span over midnight belongs to the day on which it begins. */
export function isOpen(plan, day, time, before) {
  const at = minutes(time);
  const today = hoursOf(plan, day).some(([from, to]) => {
    const [begin, end] = [minutes(from), minutes(to)];
    return begin < end ? at >= begin && at < end : at >= begin;
  });
  const yesterday = before !== undefined && hoursOf(plan, before).some(([from, to]) => {
    const [begin, end] = [minutes(from), minutes(to)];
    return begin >= end && at < end;
  });
  return today || yesterday;
}
