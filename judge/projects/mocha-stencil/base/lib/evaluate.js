'use strict';

const { filters, escape } = require('./filters');
const { TemplateError } = require('./parse');

/** Looks a dotted path up, the innermost scope first. */
function lookup(path, scopes) {
  if (path === 'this') return scopes[0];
  const [head, ...rest] = path.split('.');
  const scope = scopes.find((candidate) => candidate !== null && typeof candidate === 'object' && head in candidate);
  let value = scope === undefined ? undefined : scope[head];
  for (const name of rest) {
    if (value === undefined || value === null) return undefined;
    value = value[name];
  }
  return value;
}

function filtered(node, scopes) {
  let value = lookup(node.path, scopes);
  for (const name of node.filters) {
    if (!Object.hasOwn(filters, name)) throw new TemplateError(`unknown filter ${name}`, node.line || 1);
    value = filters[name](value);
  }
  return value === undefined || value === null ? '' : String(value);
}

function truthy(value) {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function evaluate(node, scopes) {
  switch (node.type) {
    case 'text':
      return node.text;
    case 'raw':
      return filtered(node, scopes);
    case 'value':
      return escape(filtered(node, scopes));
    case 'if':
      return truthy(lookup(node.path, scopes)) ? all(node.body, scopes) : '';
    case 'each': {
      const list = lookup(node.path, scopes) || [];
      return list.map((item, index) => all(node.body, [item, { '@index': index }, ...scopes])).join('');
    }
    default:
      return all(node.body, scopes);
  }
}

function all(nodes, scopes) {
  return nodes.map((node) => evaluate(node, scopes)).join('');
}

module.exports = { evaluate };
