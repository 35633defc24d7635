'use strict';

/** Runs jobs, at most `limit` at a time, in the order in which they were added. */
class Queue {
  constructor(limit) {
    this.limit = limit;
    this.running = 0;
    this.waiting = [];
  }

  add(job) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ job, resolve, reject });
      this.next();
    });
  }

  next() {
    while (this.running < this.limit && this.waiting.length > 0) {
      const { job, resolve, reject } = this.waiting.shift();
      this.running += 1;
      Promise.resolve()
        .then(job)
        .then(resolve, reject)
        .finally(() => {
          this.running -= 1;
          this.next();
        });
    }
  }
}

module.exports = { Queue };
