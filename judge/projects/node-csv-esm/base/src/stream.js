import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { Parser } from './parse.js';

/** A stream that takes bytes of UTF-8 and gives rows. */
export class CsvStream extends Transform {
  constructor(options) {
    super({ readableObjectMode: true });
    this.decoder = new StringDecoder('utf8');
    this.parser = new Parser((cells) => this.push(cells), options);
  }

  _transform(chunk, encoding, done) {
    this.attempt(() => this.parser.write(this.decoder.write(chunk)), done);
  }

  _flush(done) {
    this.attempt(() => {
      this.parser.write(this.decoder.end());
      this.parser.end();
    }, done);
  }

  attempt(work, done) {
    try {
      work();
      done();
    } catch (error) {
      done(error);
    }
  }
}
