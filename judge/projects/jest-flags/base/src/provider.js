'use strict';

const transport = require('./transport');
const { evaluate } = require('./evaluate');

/** Keeps the flags of a source: loads them once, and again when told to. */
class Provider {
  #source;
  #current = null;
  #loading = null;

  constructor(source) {
    this.#source = source;
    this.problem = null;
  }

  get revision() {
    return this.#current?.revision ?? null;
  }

  /** Loads the flags. Who asks while somebody else does waits for the same answer. What was good stays when loading fails. */
  refresh() {
    this.#loading ??= this.#load().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #load() {
    try {
      const found = await transport.load(this.#source);
      if (this.#current === null || found.revision > this.#current.revision) this.#current = found;
      this.problem = null;
    } catch (error) {
      this.problem = error;
      if (this.#current === null) throw error;
    }
  }

  async evaluate(name, context) {
    if (this.#current === null) await this.refresh();
    return evaluate(this.#current.flags, name, context);
  }
}

module.exports = { Provider };
