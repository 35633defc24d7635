import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from board.store import MoveError, Store  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "b.json")
    store = Store(path)
    ids = [store.add("t%d" % n) for n in range(4)]
    assert ids == [1, 2, 3, 4], ids
    for number, state in ((2, "doing"), (2, "done"), (3, "doing"), (3, "todo")):
        store.move(number, state)
    for number, state in ((1, "done"), (1, "todo"), (2, "doing"), (2, "todo"), (3, "done"), (4, "lost")):
        try:
            store.move(number, state)
        except MoveError:
            continue
        raise AssertionError("task %d may move to %s" % (number, state))
    assert [t["state"] for t in Store(path).tasks] == ["todo", "done", "todo", "todo"]
