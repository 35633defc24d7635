import { compile, type Params, type Pattern } from './pattern';
import { parseQuery } from './query';

export interface Request {
  method: string;
  path: string;
  params: Params;
  query: Map<string, string[]>;
}

export interface Answer {
  status: number;
  body: string;
}

export type Handler = (request: Request) => Answer | Promise<Answer>;

interface Route {
  method: string;
  pattern: Pattern;
  handler: Handler;
}

export class Router {
  private readonly routes: Route[] = [];

  on(method: string, path: string, handler: Handler): this {
    this.routes.push({ method: method.toUpperCase(), pattern: compile(path), handler });
    this.routes.sort((a, b) => b.pattern.weight - a.pattern.weight);
    return this;
  }

  /** Answers 404 where no route fits, 405 where another method would, 500 where a handler throws. */
  async handle(method: string, url: string): Promise<Answer> {
    const [path = '/', query = ''] = url.split('?', 2);
    const fits = this.routes.flatMap((route) => {
      const params = route.pattern.match(path);
      return params === null ? [] : [{ route, params }];
    });
    if (fits.length === 0) return { status: 404, body: `no route for ${path}` };
    const chosen = fits.find(({ route }) => route.method === method);
    if (chosen === undefined) {
      const allowed = [...new Set(fits.map(({ route }) => route.method))].sort().join(', ');
      return { status: 405, body: `allowed: ${allowed}` };
    }
    try {
      return await chosen.route.handler({ method, path, params: chosen.params, query: parseQuery(query) });
    } catch (error) {
      return { status: 500, body: error instanceof Error ? error.message : String(error) };
    }
  }
}
