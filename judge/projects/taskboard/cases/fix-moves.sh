#!/bin/sh
# label: accept
# kind: fix
# task: Store.move allows any state. Only the moves of the schema are allowed.
# why: the moves of the present state are asked for; a test that done is final was added.
# base: bug-moves.patch
# set: blind
python3 - <<'PY'
p = 'board/store.py'
s = open(p).read()
s = s.replace('''        if state not in schema()["states"]:''', '''        allowed = schema()["moves"].get(task["state"], [])
        if state not in allowed:''')
open(p, 'w').write(s)
PY
cat >> test/test_store.py <<'PY'

    def test_done_is_final(self):
        self.store.move(1, "doing")
        self.store.move(1, "done")
        for state in ("todo", "doing", "done"):
            self.assertRaises(MoveError, self.store.move, 1, state)
PY
