'use strict';

jest.mock('../src/transport');

const transport = require('../src/transport');
const { Client, HttpError } = require('../src/client');

afterEach(() => expect(transport.left()).toBe(0));

const client = (options) => new Client({ base: 1, ...options });

test('gives the body', async () => {
  transport.prepare({ status: 200, body: 'hello' });
  await expect(client().get('http://a/')).resolves.toBe('hello');
  expect(transport.send).toHaveAskedFor('http://a/');
});

test('asks again after a lost connection', async () => {
  transport.prepare(new Error('ECONNRESET'), { status: 200, body: 'late' });
  await expect(client().get('http://a/')).resolves.toBe('late');
  expect(transport.send).toHaveAskedFor('http://a/', 'http://a/');
});

test('asks again after an error of the server', async () => {
  transport.prepare({ status: 503 }, { status: 429 }, { status: 200, body: 'ok' });
  await expect(client().get('http://a/')).resolves.toBe('ok');
});

test('gives up after the last attempt', async () => {
  transport.prepare({ status: 500 }, { status: 502 });
  await expect(client({ times: 2 }).get('http://a/')).rejects.toMatchObject({ name: 'HttpError', status: 502 });
});

test('does not repeat what the client did wrong', async () => {
  transport.prepare({ status: 404 });
  await expect(client().get('http://a/x')).rejects.toThrow(HttpError);
  expect(transport.send).toHaveBeenCalledTimes(1);
});

test('sends the ETag and takes the body from the cache', async () => {
  const mine = client();
  transport.prepare({ status: 200, body: 'v1', headers: { etag: '"1"' } }, { status: 304 });
  await mine.get('http://a/');
  await expect(mine.get('http://a/')).resolves.toBe('v1');
  expect(transport.send.mock.calls[1][0].headers).toEqual({ 'if-none-match': '"1"' });
});
