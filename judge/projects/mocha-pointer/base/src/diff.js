// exports: diff

/** A patch that makes the second document out of the first one. */
function diff(before, after, tokens = []) {
  if (equal(before, after)) return [];
  const path = format(tokens);
  const lists = Array.isArray(before) && Array.isArray(after);
  const objects = !lists && isObject(before) && isObject(after);
  if (!lists && !objects) return [{ op: 'replace', path, value: after }];
  return lists ? diffLists(before, after, tokens) : diffObjects(before, after, tokens);
}

function isObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function diffObjects(before, after, tokens) {
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  const steps = gone.map((key) => ({ op: 'remove', path: format([...tokens, key]) }));
  for (const key of Object.keys(after)) {
    const place = [...tokens, key];
    if (Object.hasOwn(before, key)) steps.push(...diff(before[key], after[key], place));
    else steps.push({ op: 'add', path: format(place), value: after[key] });
  }
  return steps;
}

/** Items are compared place by place; what is too much goes from the end, so that no index moves. */
function diffLists(before, after, tokens) {
  const common = Math.min(before.length, after.length);
  const steps = [];
  for (let at = 0; at < common; at++) steps.push(...diff(before[at], after[at], [...tokens, at]));
  for (let at = before.length - 1; at >= common; at--) steps.push({ op: 'remove', path: format([...tokens, at]) });
  for (const value of after.slice(common)) steps.push({ op: 'add', path: format([...tokens, '-']), value });
  return steps;
}
