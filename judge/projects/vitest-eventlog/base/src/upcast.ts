import type { Recorded } from './store.js';

type Step = (data: Record<string, unknown>) => Record<string, unknown>;

/** Brings the data of old events into the shape of today, one schema after the other. */
export class Upcaster {
  readonly #steps = new Map<string, Step>();

  /** Says how data of a type gets from a schema to the next one. Data without a schema has the first. */
  from(type: string, schema: number, step: Step): this {
    this.#steps.set(`${type}@${schema}`, step);
    return this;
  }

  upgrade(event: Recorded): Recorded {
    let data = event.data;
    let schema = typeof data.schema === 'number' ? data.schema : 1;
    for (;;) {
      const step = this.#steps.get(`${event.type}@${schema}`);
      if (!step) break;
      schema += 1;
      data = { ...step(data), schema };
    }
    return data === event.data ? event : { ...event, data };
  }
}
