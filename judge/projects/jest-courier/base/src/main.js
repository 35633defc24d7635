'use strict';

const { Client } = require('./client');

const client = new Client();
Promise.all(process.argv.slice(2).map((url) => client.get(url)))
  .then((bodies) => bodies.forEach((body) => process.stdout.write(`${body}\n`)))
  .catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
