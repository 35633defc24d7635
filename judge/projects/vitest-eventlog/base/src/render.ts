import type { Recorded } from './store.js';

/** A table of events for people; the data stands in the order of its keys. */
export function renderTimeline(events: Recorded[]): string {
  const rows = events.map((event) => [
    String(event.position), `${event.stream}@${event.version}`, event.type, summary(event.data),
  ]);
  return table([['#', 'stream', 'type', 'data'], ...rows]);
}

/** One line for each stream: how many events of which types. */
export function renderSummary(events: Recorded[]): string {
  const streams = new Map<string, Map<string, number>>();
  for (const { stream, type } of events) {
    const counts = streams.get(stream) ?? new Map<string, number>();
    streams.set(stream, counts.set(type, (counts.get(type) ?? 0) + 1));
  }
  const rows = [...streams].sort(([a], [b]) => (a < b ? -1 : 1)).map(([stream, counts]) => {
    const types = [...counts].map(([type, count]) => (count === 1 ? type : `${type} x${count}`));
    return [stream, types.join(', ')];
  });
  return table([['stream', 'events'], ...rows]);
}

function summary(data: Record<string, unknown>): string {
  return Object.keys(data).sort().map((key) => `${key}=${JSON.stringify(data[key])}`).join(' ');
}

function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  ').trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}
