const cell = (value, delimiter) => {
  const text = value === null || value === undefined ? '' : String(value);
  const special = text.includes(delimiter) || /["\r\n]/.test(text) || /^\s|\s$/.test(text);
  return special ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Writes rows of arrays, or of objects with the names of the first as header. */
export function stringify(rows, { delimiter = ',' } = {}) {
  if (rows.length === 0) return '';
  const names = Array.isArray(rows[0]) ? null : Object.keys(rows[0]);
  const body = names === null ? rows : [names, ...rows.map((row) => names.map((name) => row[name]))];
  return body.map((cells) => `${cells.map((value) => cell(value, delimiter)).join(delimiter)}\n`).join('');
}
