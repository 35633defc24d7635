'use strict';

jest.mock('../src/transport');

const transport = require('../src/transport');
const { Provider } = require('../src/provider');
const { flags, person } = require('./support/flags');

const set = (revision, changes = {}) => ({ revision, flags: { ...flags, ...changes } });
const on = { search: { on: true, off: 'none', fallthrough: 'fast' } };

describe('Provider', () => {
  test('loads the flags when the first one is asked for', async () => {
    transport.give(set(1));
    const provider = new Provider('flags.json');
    expect(provider.revision).toBeNull();
    expect(await provider.evaluate('search', person())).toEqual({ value: 'classic', reason: 'fallthrough' });
    expect(transport.load.mock.calls).toEqual([['flags.json']]);
  });

  test('loads once for all who ask at the same time', async () => {
    transport.give(set(1));
    const provider = new Provider('flags.json');
    await Promise.all(Array.from({ length: 30 }, (_, n) => provider.evaluate('search', person({ key: `user-${n}` }))));
    expect(transport.load).toHaveBeenCalledTimes(1);
  });

  test('takes newer flags only', async () => {
    transport.give(set(5), set(4, on), set(6, on));
    const provider = new Provider('flags.json');
    await provider.refresh();
    await provider.refresh();
    expect(provider.revision).toBe(5);
    await provider.refresh();
    expect(provider.revision).toBe(6);
    expect((await provider.evaluate('search', person())).value).toBe('fast');
  });

  test('keeps what was good when loading fails', async () => {
    transport.give(set(1), new Error('disk'), set(2));
    const provider = new Provider('flags.json');
    await provider.refresh();
    await provider.refresh();
    expect(provider.problem.message).toBe('disk');
    expect(provider.revision).toBe(1);
    expect((await provider.evaluate('search', person())).value).toBe('classic');
    await provider.refresh();
    expect(provider.problem).toBeNull();
    expect(provider.revision).toBe(2);
  });

  test('fails when there was nothing good yet, and tries again', async () => {
    transport.give(new Error('disk'), set(3));
    const provider = new Provider('flags.json');
    await expect(provider.evaluate('search', person())).rejects.toThrow('disk');
    await expect(provider.evaluate('search', person())).resolves.toMatchObject({ value: 'classic' });
  });
});
