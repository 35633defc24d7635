export class CsvError extends Error {
  constructor(message, line) {
    super(`line ${line}: ${message}`);
    this.name = 'CsvError';
    this.line = line;
  }
}

/** A parser that takes text in pieces and calls `row` for each row that is complete. */
export class Parser {
  constructor(row, { delimiter = ',' } = {}) {
    this.row = row;
    this.delimiter = delimiter;
    this.cells = [];
    this.cell = [];
    this.state = 'start';
    this.line = 1;
  }

  write(text) {
    for (const sign of text) this.step(sign);
  }

  step(sign) {
    if (this.state === 'quoted') {
      if (sign === '"') this.state = 'quote';
      else this.cell.push(sign);
      if (sign === '\n') this.line += 1;
      return;
    }
    if (this.state === 'quote') {
      if (sign === '"') {
        this.cell.push('"');
        this.state = 'quoted';
        return;
      }
      if (sign !== this.delimiter && sign !== '\n' && sign !== '\r') {
        throw new CsvError('text after a closing quote', this.line);
      }
      this.state = 'plain';
    }
    if (sign === this.delimiter) this.endCell();
    else if (sign === '\n') this.endRow();
    else if (sign === '\r') this.state = 'plain';
    else if (sign === '"' && this.state === 'start') this.state = 'quoted';
    else {
      this.cell.push(sign);
      this.state = 'plain';
    }
  }

  endCell() {
    this.cells.push(this.cell.join(''));
    this.cell = [];
    this.state = 'start';
  }

  endRow() {
    this.endCell();
    const cells = this.cells;
    this.cells = [];
    this.line += 1;
    if (cells.length > 1 || cells[0] !== '') this.row(cells);
  }

  end() {
    if (this.state === 'quoted') throw new CsvError('a quote is never closed', this.line);
    if (this.state !== 'start' || this.cells.length > 0) this.endRow();
  }
}

/** Parses a whole text. With header: true rows are objects. */
export function parse(text, options = {}) {
  const rows = [];
  const parser = new Parser((cells) => rows.push(cells), options);
  parser.write(text);
  parser.end();
  if (!options.header) return rows;
  const [names = [], ...rest] = rows;
  return rest.map((cells) => Object.fromEntries(names.map((name, index) => [name, cells[index] ?? ''])));
}
