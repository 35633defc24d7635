#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: balance('assets') also counts assetsold. Fix it and add a test for the case of equal accounts.
# why: The colon is compared again, and a new test covers an account that equals the beginning of its sibling.
# base: balance.patch
# set: blind
sed -i 's/line.account.startsWith(account)/line.account.startsWith(`${account}:`)/' src/ledger.js
sed -i "/selects entries by date/i\\
  it('tells assets:cash from assets:cashbox', () => {\\
    const ledger = spring();\\
    ledger.post(entry('2024-04-03', 'box', 'assets:cashbox', 40, 'income:x', -40));\\
    expect(ledger.balance('assets:cash')).to.equal(-725);\\
    expect(ledger.balance('assets:cashbox')).to.equal(40);\\
  });\\
" test/ledger.spec.js
