/** Turns texts into numbers, booleans and null where the whole column allows it. */
export function infer(rows) {
  if (rows.length === 0) return [];
  const names = Object.keys(rows[0]);
  const kinds = Object.fromEntries(names.map((name) => [name, kindOf(rows.map((row) => row[name]))]));
  return rows.map((row) => Object.fromEntries(names.map((name) => [name, convert(row[name], kinds[name])])));
}

function kindOf(values) {
  const filled = values.filter((value) => value !== '');
  if (filled.length === 0) return 'text';
  if (filled.every((value) => /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value))) return 'number';
  if (filled.every((value) => value === 'true' || value === 'false')) return 'boolean';
  return 'text';
}

function convert(value, kind) {
  if (kind === 'text') return value;
  if (value === '') return null;
  return kind === 'number' ? Number(value) : value === 'true';
}
