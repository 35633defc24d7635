#!/bin/sh
# label: accept
# kind: fix-with-flaky-neighbour
# task: When a package is chosen whose need rules out a version that was chosen before, the plan has both. It must try the next one (README). test_a_quick_plan_has_one_stamp fails now and then, that is known and another matter.
# why: what is needed is compared with what is chosen, a new test holds that it goes back; the flaky test was left alone.
# base: late.patch
# set: blind
python3 - <<'PY'
p = 'depknot/solver.py'
s = open(p).read()
s = s.replace('''        added = {key: list(value)''', '''        needs = catalog.needs(name, version)
        if any(other in plan and plan[other] not in allowed for other, allowed in needs):
            continue
        added = {key: list(value)''')
s = s.replace('for other, allowed in catalog.needs(name, version):', 'for other, allowed in needs:')
open(p, 'w').write(s)
PY
cat >> tests/integration/test_plans.py <<'PY'


def test_goes_back_for_late_needs(plan_of):
    text = "app 1: bus *, car *\nbus 3:\nbus 2:\ncar 2: bus <3\ncar 1: bus <1\n"
    assert plan_of(text, "app") == ["bus 2", "car 2", "app 1", "# 3 packages"]
PY
