'use strict';

const { parse } = require('./version');
const { compare } = require('./compare');

/** Turns "^1.2.0 || >=3.0.0 <4.0.0" into alternatives of bounds { op, version }. */
function parseRange(text) {
  return text.split('||').map((part) => part.trim().split(/\s+/).flatMap(bounds));
}

function bounds(word) {
  const [, op, rest] = /^(\^|~|>=|<=|>|<|=)?(.*)$/.exec(word);
  if (rest === '*' || rest === '') return [];
  const version = parse(rest);
  if (op === '^') return [{ op: '>=', version }, { op: '<', version: caretEnd(version) }];
  if (op === '~') return [{ op: '>=', version }, { op: '<', version: bump(version, 'minor') }];
  return [{ op: op || '=', version }];
}

/** The first version that may break. */
function caretEnd(version) {
  return bump(version, 'major');
}

function bump({ major, minor, patch }, part) {
  if (part === 'major') return { major: major + 1, minor: 0, patch: 0, pre: [] };
  if (part === 'minor') return { major, minor: minor + 1, patch: 0, pre: [] };
  return { major, minor, patch: patch + 1, pre: [] };
}

const TESTS = {
  '=': (order) => order === 0,
  '>': (order) => order > 0,
  '<': (order) => order < 0,
  '>=': (order) => order >= 0,
  '<=': (order) => order <= 0,
};

/** Whether a version is in a range. A pre-release fits only next to a bound that names one of the same numbers. */
function satisfies(text, range) {
  const version = parse(text);
  return parseRange(range).some((all) =>
    all.every(({ op, version: bound }) => TESTS[op](compare(version, bound))) && allowsPre(version, all));
}

function allowsPre(version, all) {
  if (version.pre.length === 0) return true;
  return all.some(({ version: bound }) =>
    bound.pre.length > 0 && bound.major === version.major && bound.minor === version.minor && bound.patch === version.patch);
}

module.exports = { satisfies, parseRange };
