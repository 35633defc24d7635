'use strict';

const transport = require('./transport');
const { Queue } = require('./queue');
const { retry } = require('./retry');

class HttpError extends Error {
  constructor(status, url) {
    super(`${url} answered ${status}`);
    this.name = 'HttpError';
    this.status = status;
  }
}

/** A lost connection and an error of the server may pass; an error of the client does not. */
function transient(error) {
  return !(error instanceof HttpError) || error.status >= 500 || error.status === 429;
}

class Client {
  constructor({ times = 3, base = 100, limit = 4 } = {}) {
    this.times = times;
    this.base = base;
    this.queue = new Queue(limit);
    this.cache = new Map();
  }

  get(url) {
    return this.queue.add(() => retry(() => this.once(url), this.times, this.base, transient));
  }

  async once(url) {
    const known = this.cache.get(url);
    const headers = known ? { 'if-none-match': known.etag } : {};
    const answer = await transport.send({ method: 'GET', url, headers });
    if (answer.status === 304 && known) return known.body;
    if (answer.status >= 300) throw new HttpError(answer.status, url);
    if (answer.headers.etag) this.cache.set(url, { etag: answer.headers.etag, body: answer.body });
    return answer.body;
  }
}

module.exports = { Client, HttpError };
