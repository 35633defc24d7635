'use strict';

const PATTERN = /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

class VersionError extends Error {
  constructor(text) {
    super(`not a version: ${text}`);
    this.name = 'VersionError';
  }
}

/** Reads 1.2.3-rc.1+build; what follows + is dropped. */
function parse(text) {
  const match = PATTERN.exec(text);
  if (!match) throw new VersionError(text);
  const pre = match[4] === undefined ? [] : match[4].split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]), pre };
}

function format({ major, minor, patch, pre }) {
  return `${major}.${minor}.${patch}${pre.length > 0 ? `-${pre.join('.')}` : ''}`;
}

module.exports = { parse, format, VersionError };
