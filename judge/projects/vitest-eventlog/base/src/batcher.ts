/** Collects items and hands them on together: when there are enough, or when the oldest has waited long enough. */
export class Batcher<T> {
  #pending: T[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly sink: (items: T[]) => void,
    private readonly options: { size: number; delay: number },
  ) {}

  add(item: T): void {
    this.#pending.push(item);
    if (this.#pending.length >= this.options.size) {
      this.flush();
      return;
    }
    this.#timer ??= setTimeout(() => this.flush(), this.options.delay);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#pending.length === 0) return;
    const items = this.#pending;
    this.#pending = [];
    this.sink(items);
  }
}
