export function take(count, iterable) {
  const found = [];
  for (const item of iterable) {
    if (found.length === count) break;
    found.push(item);
  }
  return found;
}
