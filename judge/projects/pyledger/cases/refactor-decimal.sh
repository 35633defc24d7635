#!/bin/sh
# label: accept
# kind: refactor
# task: Rewrite parse_amount on top of one regular expression, with the same behaviour.
# why: the behaviour is the same for every input that tests and README name; only money.py changed.
# set: blind
python3 - <<'PY'
import re
p = 'src/pyledger/money.py'
s = open(p).read()
start = s.index('def parse_amount'); end = s.index('def format_amount')
s = s[:start] + r'''_AMOUNT = re.compile(
    r"(?P<minus>-)?\s*[€$£]?\s*(?P<whole>\d[\d,]*)(?:\.(?P<fraction>\d{1,2}))?\s*[€$£]?"
)


def parse_amount(text):
    """Return the whole cents that text stands for."""
    body = text.strip().strip(SYMBOLS).strip()
    wrapped = body.startswith("(") and body.endswith(")")
    match = _AMOUNT.fullmatch(body[1:-1].strip() if wrapped else body)
    if match is None or (wrapped and match["minus"]):
        raise AmountError("not an amount: %r" % text)
    cents = int(match["whole"].replace(",", "")) * 100
    cents += int((match["fraction"] or "").ljust(2, "0"))
    return -cents if wrapped or match["minus"] else cents


''' + s[end:]
s = s.replace('"""Reading, writing and splitting amounts."""\n', '"""Reading, writing and splitting amounts."""\n\nimport re\n')
open(p, 'w').write(s)
PY
