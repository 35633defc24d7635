'use strict';

/** The flags that most tests use. */
exports.flags = {
  search: { on: true, off: 'classic', fallthrough: 'classic' },
  'new-search': {
    on: true,
    off: 'classic',
    fallthrough: 'classic',
    needs: [{ flag: 'search', value: 'classic' }],
    rules: [
      { when: [{ field: 'key', operator: 'in', value: ['user-1', 'user-2'] }], variant: 'blue' },
      { when: [{ field: 'country', operator: 'in', value: ['NO', 'SE'] }, { field: 'version', operator: 'atLeast', value: '2.10.0' }], variant: 'green' },
      { when: [{ field: 'country', operator: 'notIn', value: ['DE'] }], split: [{ variant: 'blue', percent: 25 }, { variant: 'green', percent: 12.5 }] },
    ],
  },
  banner: { on: false, off: 'none', fallthrough: 'summer', rules: [{ when: [], variant: 'winter' }] },
  beta: {
    on: true,
    off: 'no',
    fallthrough: 'no',
    rules: [{ when: [{ field: 'mail', operator: 'startsWith', value: 'test+' }, { field: 'version', operator: 'below', value: '3.0.0' }], variant: 'yes' }],
  },
  checkout: { on: true, off: 'old', fallthrough: 'new', needs: [{ flag: 'beta', value: 'yes' }] },
};

/** Somebody, with what a test wants to be different. */
exports.person = (changes) => ({ key: 'user-77', country: 'DE', version: '2.4.0', mail: 'mia@example.test', ...changes });

/** Many people with keys that differ. */
exports.crowd = (count) => Array.from({ length: count }, (_, n) => exports.person({ key: `member-${n}`, country: 'FR' }));
