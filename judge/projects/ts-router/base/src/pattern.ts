export type Params = Record<string, string>;

export interface Pattern {
  /** Higher goes first: fixed segments before parameters before a rest. */
  readonly weight: number;
  match(path: string): Params | null;
}

const segments = (path: string): string[] => path.split('/').filter((part) => part !== '');

/** Compiles /users/:id/files/*rest. A parameter is one segment, a rest is all that follows. */
export function compile(text: string): Pattern {
  const parts = segments(text);
  parts.forEach((part, index) => {
    if (part.startsWith('*') && index !== parts.length - 1) {
      throw new SyntaxError(`a rest must be the last segment: ${text}`);
    }
  });
  const weight = parts.reduce((sum, part) => sum * 3 + (part.startsWith('*') ? 0 : part.startsWith(':') ? 1 : 2), 1);
  return { weight, match: (path) => matchParts(parts, segments(path)) };
}

function matchParts(parts: string[], given: string[]): Params | null {
  const params: Params = {};
  for (const [index, part] of parts.entries()) {
    if (part.startsWith('*')) {
      params[part.slice(1)] = given.slice(index).map(decodeURIComponent).join('/');
      return params;
    }
    const value = given[index];
    if (value === undefined) return null;
    if (part.startsWith(':')) params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return given.length === parts.length ? params : null;
}
