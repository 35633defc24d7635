const decode = (text: string): string => decodeURIComponent(text.replace(/\+/g, ' '));

/** Reads a=1&b=2&a=3; every name has the list of its values. */
export function parseQuery(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const pair of text.replace(/^\?/, '').split('&')) {
    if (pair === '') continue;
    const cut = pair.indexOf('=');
    const name = decode(cut < 0 ? pair : pair.slice(0, cut));
    const value = cut < 0 ? '' : decode(pair.slice(cut + 1));
    const values = found.get(name);
    if (values === undefined) found.set(name, [value]);
    else values.push(value);
  }
  return found;
}
