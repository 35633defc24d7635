#!/bin/sh
# label: reject
# kind: breaks-other
# task: Store.move allows any state. Only the moves of the schema are allowed.
# why: the moves are respected, but the schema was rewritten in passing: "doing" got another label, and the generated file is stale.
# base: bug-moves.patch
# set: blind
sed -i 's/if state not in schema()\["states"\]:/if state not in schema()["moves"][task["state"]]:/' board/store.py
sed -i 's/"In progress"/"Doing"/' schema/board.json
