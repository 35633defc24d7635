'use strict';

const http = require('node:http');

/** Sends one request. Resolves to { status, headers, body }; rejects when there is no answer. */
function send({ method, url, headers, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => resolve({
        status: response.statusCode,
        headers: response.headers,
        body: Buffer.concat(parts).toString('utf8'),
      }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

module.exports = { send };
