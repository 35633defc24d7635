import type { Handler } from '../../src';

/** A handler that answers its own name and the parameters it got. */
export const says = (name: string): Handler => ({ params }) => ({ status: 200, body: `${name} ${JSON.stringify(params)}` });
