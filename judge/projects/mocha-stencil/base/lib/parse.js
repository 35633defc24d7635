'use strict';

class TemplateError extends Error {
  constructor(message, line) {
    super(`line ${line}: ${message}`);
    this.name = 'TemplateError';
    this.line = line;
  }
}

const TAG = /\{\{\{(.+?)\}\}\}|\{\{(.+?)\}\}/g;

function expression(source) {
  const [path, ...names] = source.split('|').map((part) => part.trim());
  return { path, filters: names };
}

/** Turns text into a tree of text, value and block nodes. */
function parse(text) {
  const root = { type: 'root', body: [] };
  const stack = [root];
  const top = () => stack[stack.length - 1];
  let last = 0;
  for (const match of text.matchAll(TAG)) {
    const line = text.slice(0, match.index).split('\n').length;
    if (match.index > last) top().body.push({ type: 'text', text: text.slice(last, match.index) });
    last = match.index + match[0].length;
    if (match[1] !== undefined) {
      top().body.push({ type: 'raw', ...expression(match[1]) });
      continue;
    }
    const tag = match[2].trim();
    if (tag.startsWith('#')) {
      const [kind, path] = tag.slice(1).split(/\s+/);
      if (kind !== 'if' && kind !== 'each') throw new TemplateError(`unknown block ${kind}`, line);
      const block = { type: kind, path, body: [], line };
      top().body.push(block);
      stack.push(block);
    } else if (tag.startsWith('/')) {
      const kind = tag.slice(1);
      if (top().type !== kind) throw new TemplateError(`unexpected {{/${kind}}}`, line);
      stack.pop();
    } else {
      top().body.push({ type: 'value', ...expression(tag), line });
    }
  }
  if (last < text.length) top().body.push({ type: 'text', text: text.slice(last) });
  if (stack.length > 1) throw new TemplateError(`{{#${top().type}}} is never closed`, top().line);
  return root;
}

module.exports = { parse, TemplateError };
