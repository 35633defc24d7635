#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Rename upcoming() to occurrences(), everywhere. The old name stays in tickrule for a release, with a DeprecationWarning.
# why: product and fixture use the new name; the old one works and warns, and a new test holds that.
# set: blind
sed -i 's/\bupcoming(/occurrences(/g' src/tickrule/when.py src/tickrule/__main__.py
sed -i 's/read_table, upcoming$/occurrences, parse, read_table/; s/describe, parse, occurrences/describe, occurrences/' src/tickrule/__main__.py
python3 - <<'PY'
p = 'src/tickrule/__init__.py'
s = open(p).read()
s = s.replace('from .when import Never, between, first_after, upcoming', 'from .when import Never, between, first_after, occurrences')
s = s.replace('"first_after", "parse"', '"first_after", "occurrences", "parse"')
s += '''

def upcoming(rule, after):
    """The old name of occurrences."""
    warnings.warn("upcoming() is called occurrences() now", DeprecationWarning, stacklevel=2)
    return occurrences(rule, after)
'''
s = s.replace('''from .rule import Rule,''', '''import warnings

from .rule import Rule,''', 1)
open(p, 'w').write(s)
p = 'tests/conftest.py'
s = open(p).read()
s = s.replace('from tickrule import parse, upcoming', 'from tickrule import occurrences, parse').replace('islice(upcoming(', 'islice(occurrences(')
open(p, 'w').write(s)
p = 'tests/test_when.py'
s = open(p).read()
s = s.replace('from tickrule import Never, between, first_after, parse', 'from tickrule import Never, between, first_after, parse, upcoming')
s += '''

def test_old_name_warns(now):
    with pytest.warns(DeprecationWarning, match="occurrences"):
        times = upcoming(parse("@daily"), now)
    assert next(times) == datetime.datetime(2021, 6, 2)
'''
open(p, 'w').write(s)
PY
