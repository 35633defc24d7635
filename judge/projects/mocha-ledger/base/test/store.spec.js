'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { load, save } = require('../src');
const { spring } = require('./support/build');

const books = path.join(__dirname, 'fixtures', 'books.jsonl');

describe('store', () => {
  let dir;
  beforeEach(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'ledger-'));
  });
  afterEach(() => fs.rmSync(dir, { recursive: true }));

  it('loads the fixture', () => {
    const ledger = load(books);
    expect(ledger.entries).to.have.length(3);
    expect(ledger.balance('assets:bank')).to.equal(25001);
  });

  it('loads what it saved', () => {
    const file = path.join(dir, 'books.jsonl');
    save(spring(), file);
    expect(load(file).entries).to.deep.equal(spring().entries);
    expect(fs.readdirSync(dir)).to.deep.equal(['books.jsonl']);
  });

  it('names file and line of a bad entry', () => {
    const file = path.join(dir, 'bad.jsonl');
    fs.writeFileSync(file, '# head\n{"date":"2024-01-01","memo":"x","lines":[{"account":"a","amount":1}]}\n');
    expect(() => load(file)).to.throw(/bad\.jsonl:2: entry is off by 1 cents/);
  });
});
