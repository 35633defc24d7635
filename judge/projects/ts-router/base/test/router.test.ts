import { beforeEach, test } from 'node:test';
import * as assert from 'node:assert/strict';
import { Router, type Handler } from '../src';
import { says } from './support/says';

let router: Router;

beforeEach(() => {
  router = new Router()
    .on('GET', '/users/:id', says('user'))
    .on('GET', '/users/me', says('me'))
    .on('POST', '/users/:id', says('post'))
    .on('GET', '/*rest', says('rest'));
});

async function body(method: string, url: string): Promise<string> {
  const answer = await router.handle(method, url);
  return `${answer.status} ${answer.body}`;
}

test('the more exact route goes first, whatever the order', async () => {
  assert.equal(await body('GET', '/users/me'), '200 me {}');
  assert.equal(await body('GET', '/users/7'), '200 user {"id":"7"}');
  assert.equal(await body('GET', '/a/b'), '200 rest {"rest":"a/b"}');
});

test('falls back to another route with the method', async () => {
  assert.equal(await body('POST', '/users/me'), '200 post {"id":"me"}');
});

test('names the methods that are allowed', async () => {
  assert.equal(await body('DELETE', '/users/7'), '405 allowed: GET, POST');
});

test('answers 404 without any route', async () => {
  router = new Router();
  assert.equal(await body('GET', '/x?y=1'), '404 no route for /x');
});

test('answers 500 when a handler throws or rejects', async () => {
  const late: Handler = () => new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 700));
  router.on('GET', '/sync', () => { throw new Error('boom'); }).on('GET', '/late', late);
  assert.equal(await body('GET', '/sync'), '500 boom');
  assert.equal(await body('GET', '/late'), '500 late');
});
