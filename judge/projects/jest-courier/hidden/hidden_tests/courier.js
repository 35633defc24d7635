'use strict';

const assert = require('node:assert');
const http = require('node:http');
const path = require('node:path');
const { execFile } = require('node:child_process');

// A real server and a program of its own: nothing of the test runner is near the library.
function visit(script, answers) {
  const seen = [];
  const server = http.createServer((request, response) => {
    seen.push({ url: request.url, tag: request.headers['if-none-match'], at: performance.now() });
    const [status, body = '', headers = {}] = answers.shift() || [500, 'none left'];
    response.writeHead(status, headers);
    response.end(body);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => {
    const url = `http://127.0.0.1:${server.address().port}`;
    const text = `const { Client } = require(${JSON.stringify(path.resolve('src/client.js'))}); const url = ${JSON.stringify(url)};
      (async () => { ${script} })().catch((error) => console.log('error', error.status)).finally(() => process.exit(0));`;
    execFile(process.execPath, ['-e', text], { env: { PATH: process.env.PATH } }, (error, out) => server.close(() => resolve({ out: out.trim(), seen })));
  }));
}

test('retries with growing delays', async () => {
  const { out, seen } = await visit('console.log(await new Client({ times: 4, base: 60 }).get(url))', [[500], [503], [500], [200, 'x']]);
  assert.strictEqual(out, 'x');
  const gaps = [1, 2, 3].map((i) => seen[i].at - seen[i - 1].at);
  assert.ok(gaps[0] > 50 && gaps[1] > 110 && gaps[2] > 230, String(gaps));
});
test('does not repeat 4xx', async () => {
  for (const status of [400, 404, 410, 422]) {
    const { out, seen } = await visit('await new Client({ base: 5 }).get(url)', [[status]]);
    assert.strictEqual(out, `error ${status}`);
    assert.strictEqual(seen.length, 1);
  }
});
test('repeats 429 and 502', async () => {
  const { out } = await visit('console.log(await new Client({ base: 5 }).get(url))', [[429], [502], [200, 'y']]);
  assert.strictEqual(out, 'y');
});
test('uses the cache for each address', async () => {
  const { out, seen } = await visit(
    "const c = new Client({ base: 5 }); for (const p of ['/a', '/b', '/a', '/b']) console.log(await c.get(url + p))",
    [[200, 'A', { etag: '1' }], [200, 'B', { etag: '2' }], [304], [200, 'B2', { etag: '3' }]]);
  assert.strictEqual(out, 'A\nB\nA\nB2');
  assert.deepStrictEqual(seen.map((one) => one.tag), [undefined, undefined, '1', '2']);
});
test('keeps the limit', async () => {
  const { out } = await visit(
    `const { Queue } = require(${JSON.stringify(path.resolve('src/queue.js'))}); const q = new Queue(3); let n = 0, m = 0;
     await Promise.all(Array.from({ length: 20 }, (x, i) => q.add(async () => { m = Math.max(m, ++n); await new Promise((r) => setTimeout(r, i % 4)); n--; })));
     console.log(m);`, []);
  assert.strictEqual(out, '3');
});
