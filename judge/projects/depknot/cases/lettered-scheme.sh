#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Add a scheme "lettered" for versions such as 7, 7a and 7c: a number and perhaps a letter. The next number may break. Tests and README, too.
# why: one more class in the registry, in a module of its own that the package imports; unit and integration tests were added.
# set: blind
cat > depknot/lettered.py <<'PY'
"""Versions such as 7, 7a and 7c."""

import re

from .registry import schemes


@schemes.register("lettered")
class Lettered:
    def parse(self, text):
        match = re.fullmatch(r"(\d+)([a-z]?)", text)
        if not match:
            raise ValueError("%r is not a number with a letter" % text)
        return int(match[1]), match[2]

    def breaking(self, version):
        return version[0] + 1, ""
PY
sed -i 's/^from \.catalog import/from . import lettered  # puts itself into the registry\n&/' depknot/__init__.py
sed -i 's/it is the end of the year\.$/it is the end of the year, with `lettered` (7, 7a, 7b) the next number./' README.md
cat >> tests/unit/test_ranges.py <<'PY'


@pytest.mark.parametrize('text, want', [('^7a', '7a 7c'), ('<=7', '6z 7'), ('7c', '7c'), ('>7a', '7c 8 10')])
def test_lettered(inside, text, want):
    assert inside(text, '6z 7 7a 7c 8 10', 'lettered') == want.split()


@pytest.mark.parametrize('text', ['a', '7aa', '7.1', '7A'])
def test_not_lettered(text):
    with pytest.raises(ValueError, match='is not a number with a letter'):
        schemes.get('lettered').parse(text)
PY
cat >> tests/integration/test_plans.py <<'PY'


def test_lettered_plan(plan_of):
    text = "scheme lettered\nboat 2: sail ^9\nsail 10:\nsail 9:\nsail 9b:\n"
    assert plan_of(text, "boat") == ["sail 9b", "boat 2", "# 2 packages"]
PY
