#!/bin/sh
# label: accept
# kind: signature-change-with-tests
# task: test_jitter_spreads is flaky. Give with_jitter a parameter for the random generator and make the test reliable without testing less.
# why: the generator can be passed, the test uses a seed and checks both bounds on a thousand draws, which is more than before.
# set: blind
python3 - <<'PY'
p = 'ratelimit/retry.py'
s = open(p).read()
s = s.replace('''def with_jitter(delay):
    """Return delay, shortened by up to a half at random."""
    return delay * (1 - random.random() / 2)''', '''def with_jitter(delay, rng=random):
    """Return delay, shortened by up to a half; rng draws."""
    return delay * (1 - rng.random() / 2)''')
open(p, 'w').write(s)
p = 'tests/test_retry.py'
s = open(p).read()
s = s[:s.index('def test_jitter')] + '''def test_jitter_spreads():
    rng = random.Random(20240101)
    draws = [with_jitter(1.0, rng) for _ in range(1000)]
    assert 0.5 <= min(draws) < 0.51
    assert 0.99 < max(draws) <= 1.0


def test_jitter_draws_by_itself():
    assert 0.5 <= with_jitter(1.0) <= 1.0
'''
s = s.replace('import time\n', 'import random\nimport time\n', 1)
open(p, 'w').write(s)
p = 'README.md'
s = open(p).read()
s = s[:s.index('\n`test_jitter')]
open(p, 'w').write(s)
PY
