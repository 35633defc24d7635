// exports: PointerError, parse, format, get, has

class PointerError extends Error {
  constructor(code, what) {
    super(ERRORS[code].replace('%s', what));
    this.name = 'PointerError';
    this.code = code;
  }
}

/** "/a~1b/0" -> ["a/b", "0"] */
function parse(pointer) {
  if (pointer === '') return [];
  if (typeof pointer !== 'string' || pointer[0] !== '/' || /~(?![01])/.test(pointer)) {
    throw new PointerError('SYNTAX', JSON.stringify(pointer));
  }
  return pointer.slice(1).split('/').map((token) => token.replace(/~1/g, '/').replace(/~0/g, '~'));
}

/** The inverse of parse. */
function format(tokens) {
  return tokens.map((token) => `/${String(token).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

/** The number that a token is in a list; "-" is the place behind the last item. */
function index(list, token, pointer) {
  if (token === '-') return list.length;
  if (!/^(?:0|[1-9]\d*)$/.test(token)) throw new PointerError('INDEX', `${token} in ${pointer}`);
  return Number(token);
}

function step(value, token, pointer) {
  if (Array.isArray(value)) {
    const at = index(value, token, pointer);
    if (at < value.length) return value[at];
  } else if (value !== null && typeof value === 'object' && Object.hasOwn(value, token)) {
    return value[token];
  }
  throw new PointerError('MISSING', pointer);
}

function get(document, pointer) {
  return parse(pointer).reduce((value, token) => step(value, token, pointer), document);
}

function has(document, pointer) {
  try {
    get(document, pointer);
    return true;
  } catch (error) {
    if (error.code === 'MISSING' || error.code === 'INDEX') return false;
    throw error;
  }
}
