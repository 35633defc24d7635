import { readdirSync, readFileSync } from 'node:fs';

const dir = new URL('../test/fixtures/', import.meta.url);

export const names = readdirSync(dir).filter((name) => name.endsWith('.csv')).map((name) => name.slice(0, -4));

export const csv = (name) => readFileSync(new URL(`${name}.csv`, dir), 'utf8');

export const expected = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, dir), 'utf8'));
