// exports: apply, equal

/** Whether two JSON values are the same; the order of members does not matter, that of items does. */
function equal(a, b) {
  if (a === b) return true;
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && equal(a[key], b[key]));
}

/** Returns a document that has a value at the place, which is made by what(container, key). */
function change(document, tokens, pointer, what) {
  if (tokens.length === 0) return what({ '': document }, '')[''];
  const [token, ...rest] = tokens;
  const copy = Array.isArray(document) ? [...document] : { ...document };
  if (rest.length === 0) {
    if (document === null || typeof document !== 'object') throw new PointerError('MISSING', pointer);
    return what(copy, Array.isArray(copy) ? index(copy, token, pointer) : token);
  }
  const below = change(step(document, token, pointer), rest, pointer, what);
  copy[token] = below;
  return copy;
}

function insert(container, key, value, pointer) {
  if (!Array.isArray(container)) return { ...container, [key]: value };
  if (key > container.length) throw new PointerError('MISSING', pointer);
  return container.toSpliced(key, 0, value);
}

function drop(container, key, pointer) {
  step(container, String(key), pointer);
  if (Array.isArray(container)) return container.toSpliced(key, 1);
  const { [key]: dropped, ...kept } = container;
  return kept;
}

const OPERATIONS = {
  add: (document, { path, value }) => change(document, parse(path), path, (box, key) => insert(box, key, value, path)),
  remove: (document, { path }) => change(document, parse(path), path, (box, key) => drop(box, key, path)),
  replace: (document, { path, value }) => {
    get(document, path);
    return change(document, parse(path), path, (box, key) => {
      if (Array.isArray(box)) return box.with(key, value);
      return { ...box, [key]: value };
    });
  },
  move: (document, { from, path }) => {
    const value = get(document, from);
    return OPERATIONS.add(OPERATIONS.remove(document, { path: from }), { path, value });
  },
  copy: (document, { from, path }) => OPERATIONS.add(document, { path, value: structuredClone(get(document, from)) }),
  test: (document, { path, value }) => {
    if (!equal(get(document, path), value)) throw new PointerError('TEST', path);
    return document;
  },
};

/** Applies a JSON patch and returns the new document; the old one is not touched, whatever happens. */
function apply(document, operations) {
  return operations.reduce((current, operation) => {
    if (!Object.hasOwn(OPERATIONS, operation.op)) throw new PointerError('OPERATION', operation.op);
    return OPERATIONS[operation.op](current, operation);
  }, document);
}
