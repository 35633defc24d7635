#!/bin/sh
# label: accept
# kind: generated-files
# task: Add the state "blocked" between doing and done in the schema: doing -> blocked -> doing. Generate and test.
# why: the schema and the file that is generated from it agree; expected texts gained the new column, which the task implies.
# set: blind
sed -i 's/"doing", "done"\],$/"doing", "blocked", "done"],/; s/"doing": \["todo", "done"\]/"doing": ["todo", "blocked", "done"], "blocked": ["doing"]/; s/"doing": "In progress"/"doing": "In progress", "blocked": "Blocked"/' schema/board.json
make -s generate
sed -i 's/In progress (0)\\nDone/In progress (0)\\nBlocked (0)\\nDone/; s/split("<section>").length, 4/split("<section>").length, 5/' test/render.test.js
sed -i 's/`todo -> doing -> done`, and `doing -> todo`/`todo -> doing -> done`, `doing -> todo` and `doing -> blocked -> doing`/' README.md
cat >> test/test_store.py <<'PY'

    def test_blocked(self):
        self.store.move(1, "doing")
        self.store.move(1, "blocked")
        self.assertRaises(MoveError, self.store.move, 1, "done")
        self.store.move(1, "doing")
PY
