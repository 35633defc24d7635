#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add Ledger.transfer(date, text, source, target, cents) that posts a balanced entry and refuses amounts below 1. Add tests.
# why: the method and its tests do what was asked; the old tests are untouched.
# set: blind
python3 - <<'PY'
p = 'src/pyledger/ledger.py'
s = open(p).read()
s = s.replace('''    def balance(self, account''', '''    def transfer(self, date, text, source, target, cents):
        """Move cents from source to target."""
        if cents < 1:
            raise ValueError("cents: %d, must be at least 1" % cents)
        if source == target:
            raise ValueError("source and target are both %s" % source)
        self.post(date, text, **{source: -cents, target: cents})

    def balance(self, account''', 1)
open(p, 'w').write(s)
PY
cat >> tests/test_ledger.py <<'PY'


def test_transfer(ledger):
    ledger.transfer("2024-03-01", "Savings", "cash", "savings", 500)
    assert ledger.balance("cash") == 6051
    assert ledger.balance("savings") == 500


@pytest.mark.parametrize("cents", [0, -5])
def test_transfer_refuses(ledger, cents):
    with pytest.raises(ValueError, match="at least 1"):
        ledger.transfer("2024-03-01", "Savings", "cash", "savings", cents)
    assert len(ledger.entries) == 3


def test_transfer_to_itself_is_refused(ledger):
    with pytest.raises(ValueError, match="both cash"):
        ledger.transfer("2024-03-01", "Loop", "cash", "cash", 5)
PY
