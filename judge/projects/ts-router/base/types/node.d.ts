// The few things of node that we use; @types/node is not wanted here.
declare module 'node:test' {
  type Body = () => void | Promise<void>;
  interface Options { skip?: boolean | string; todo?: boolean | string; only?: boolean; timeout?: number }
  export function test(name: string, body: Body): Promise<void>;
  export function test(name: string, options: Options, body: Body): Promise<void>;
  export function describe(name: string, body: Body): void;
  export function it(name: string, body: Body): void;
  export function it(name: string, options: Options, body: Body): void;
  export function beforeEach(body: Body): void;
}
declare module 'node:assert/strict' {
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
  export function throws(body: () => unknown, expected?: object, message?: string): void;
  export function rejects(body: Promise<unknown>, expected?: object): Promise<void>;
}
declare function setTimeout(body: () => void, ms: number): unknown;
