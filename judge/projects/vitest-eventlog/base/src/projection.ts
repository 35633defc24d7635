import type { EventStore, Recorded } from './store.js';
import type { Upcaster } from './upcast.js';

export type Handlers<S> = Record<string, (state: S, event: Recorded) => S>;

/** A state that is computed from the log, and knows how far it has read. */
export class Projection<S> {
  #state: S;
  #checkpoint = 0;

  constructor(
    private readonly initial: () => S,
    private readonly handlers: Handlers<S>,
    private readonly upcaster?: Upcaster,
  ) {
    this.#state = initial();
  }

  get state(): S {
    return this.#state;
  }

  get checkpoint(): number {
    return this.#checkpoint;
  }

  /** Reads what is new and returns how many events that was. */
  catchUp(store: EventStore): number {
    const fresh = store.readAll({ after: this.#checkpoint });
    for (const event of fresh) this.apply(event);
    return fresh.length;
  }

  /** Takes one event. One that was seen before, as a queue may bring it, changes nothing. */
  apply(event: Recorded): void {
    if (event.position <= this.#checkpoint) return;
    const latest = this.upcaster ? this.upcaster.upgrade(event) : event;
    const handler = Object.hasOwn(this.handlers, latest.type) ? this.handlers[latest.type] : undefined;
    if (handler) this.#state = handler(this.#state, latest);
    this.#checkpoint = event.position;
  }

  rewind(): void {
    this.#state = this.initial();
    this.#checkpoint = 0;
  }
}
