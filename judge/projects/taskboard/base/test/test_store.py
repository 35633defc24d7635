import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from board.store import MoveError, Store  # noqa: E402


class StoreTest(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        self.path = os.path.join(self.dir.name, "board.json")
        self.store = Store(self.path)
        self.first = self.store.add("Write")

    def test_ids(self):
        self.assertEqual([self.first, self.store.add("Read")], [1, 2])

    def test_survives(self):
        self.store.move(1, "doing")
        again = Store(self.path)
        self.assertEqual(again.tasks, [{"id": 1, "title": "Write", "state": "doing"}])
        self.assertEqual(os.listdir(self.dir.name), ["board.json"])

    def test_moves(self):
        self.store.move(1, "doing")
        self.store.move(1, "todo")
        self.store.move(1, "doing")
        self.store.move(1, "done")
        with self.assertRaisesRegex(MoveError, "done -> todo"):
            self.store.move(1, "todo")

    def test_no_shortcut(self):
        with self.assertRaisesRegex(MoveError, "todo -> done"):
            self.store.move(1, "done")
        self.assertRaises(KeyError, self.store.move, 7, "doing")
