export { Router } from './router';
export type { Answer, Handler, Request } from './router';
export { compile } from './pattern';
export type { Params } from './pattern';
export { parseQuery } from './query';
