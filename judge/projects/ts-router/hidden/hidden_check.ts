import { Router, compile, parseQuery, type Params } from './src/index';

declare const process: { exitCode: number; on(event: 'exit', body: () => void): void };
declare const console: { log(text: string): void };

let checks = 0;
process.exitCode = 1;
function same(got: unknown, want: unknown): void {
  const [a, b] = [JSON.stringify(got), JSON.stringify(want)];
  if (a !== b) throw new Error(`got ${a}, want ${b}`);
  checks += 1;
}

async function main(): Promise<void> {
  const found: Params | null = compile('/a/:b/:c').match('/a/%C3%A4/2');
  same(found, { b: 'ä', c: '2' });
  same(compile('/a/*r').match('/a/x%3F/y/'), { r: 'x?/y' });
  same(compile('/').match('/'), {});
  same(compile('/a').match('/b'), null);
  const query: Map<string, string[]> = parseQuery('x=1&x=2&&y+z=%2B&k=a=b=');
  same([...query], [['x', ['1', '2']], ['y z', ['+']], ['k', ['a=b=']]]);
  const router = new Router();
  for (const [method, path] of [['get', '/*all'], ['get', '/:x/edit'], ['put', '/new/edit'], ['get', '/new/*r'], ['get', '/new/edit']] as const) {
    router.on(method, path, ({ params, query: q }) => ({ status: 200, body: `${path} ${JSON.stringify(params)} ${[...q.keys()].join()}` }));
  }
  const ask = async (method: string, url: string): Promise<string> => { const { status, body } = await router.handle(method, url); return `${status} ${body}`; };
  same(await ask('GET', '/new/edit?a=1&b'), '200 /new/edit {} a,b');
  same(await ask('GET', '/old/edit'), '200 /:x/edit {"x":"old"} ');
  same(await ask('GET', '/new/x'), '200 /new/*r {"r":"x"} ');
  same(await ask('GET', '/q'), '200 /*all {"all":"q"} ');
  same(await ask('PATCH', '/new/edit'), '405 allowed: GET, PUT');
  same(await new Router().handle('GET', '/p?q'), { status: 404, body: 'no route for /p' });
  router.on('GET', '/fail', async () => Promise.reject('text'));
  same(await ask('GET', '/fail'), '500 text');
}

void main().then(() => {
  if (checks === 12) process.exitCode = 0;
  console.log(`hidden: ${checks}`);
});
