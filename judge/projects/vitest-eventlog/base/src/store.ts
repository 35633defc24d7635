export interface NewEvent {
  type: string;
  data?: Record<string, unknown>;
}

/** An event as it lies in the log. Positions count over all streams, versions within one; both begin at 1. */
export interface Recorded extends Required<NewEvent> {
  position: number;
  stream: string;
  version: number;
  at: number;
}

/** What a writer believes of a stream: its version, that it does not exist yet, or nothing at all. */
export type Expected = number | 'none' | 'any';

export class ConflictError extends Error {
  override name = 'ConflictError';

  constructor(readonly stream: string, readonly expected: Expected, readonly actual: number) {
    super(`${stream} is at version ${actual}, expected ${expected}`);
  }
}

export class EventStore {
  readonly #log: Recorded[] = [];
  readonly #versions = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  version(stream: string): number {
    return this.#versions.get(stream) ?? 0;
  }

  /** Appends all events or none, and returns the new version of the stream. */
  append(stream: string, events: NewEvent[], expected: Expected = 'any'): number {
    const actual = this.version(stream);
    const fits = expected === 'any' || (expected === 'none' ? actual === 0 : actual === expected);
    if (!fits) throw new ConflictError(stream, expected, actual);
    const at = this.#now();
    const recorded = events.map((event, index) => ({
      position: this.#log.length + index + 1,
      stream,
      version: actual + index + 1,
      type: event.type,
      data: structuredClone(event.data ?? {}),
      at,
    }));
    this.#log.push(...recorded);
    this.#versions.set(stream, actual + events.length);
    return actual + events.length;
  }

  /** The events of one stream, from a version on. */
  read(stream: string, { from = 1, limit = Infinity } = {}): Recorded[] {
    return this.#log.filter((event) => event.stream === stream && event.version >= from).slice(0, limit);
  }

  /** The events of all streams behind a position. */
  readAll({ after = 0, category }: { after?: number; category?: string } = {}): Recorded[] {
    const rest = this.#log.slice(after);
    return category === undefined ? rest : rest.filter((event) => event.stream.split('-', 1)[0] === category);
  }
}
