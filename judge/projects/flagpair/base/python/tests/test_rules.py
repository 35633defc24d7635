import unittest

from flagpair.bucket import bucket
from flagpair.rules import evaluate, evaluate_all, matches
from support import shared_files


class SharedTest(unittest.TestCase):
    def test_answers(self):
        for name, shared in shared_files():
            for number, ask in enumerate(shared["asks"]):
                with self.subTest(file=name, ask=number):
                    self.assertEqual(evaluate_all(shared["flags"], ask["context"]), ask["want"])


class RulesTest(unittest.TestCase):
    def test_first_rule_that_applies(self):
        flag = {"on": True, "rules": [{"if": {"a": 1}, "then": "x"}, {"then": "y"}, {"then": "z"}], "else": "e"}
        self.assertEqual(evaluate(flag, "f", {"a": 1}), "x")
        self.assertEqual(evaluate(flag, "f", {"a": 2}), "y")

    def test_missing_never_matches(self):
        self.assertFalse(matches("<9", None))
        self.assertFalse(matches(["a"], None))

    def test_zeros_at_the_end(self):
        self.assertTrue(matches(">=2.0.0", "2"))
        self.assertFalse(matches("<2.0", "2"))

    def test_share_wants_a_user(self):
        flag = {"on": True, "rules": [{"share": 100, "then": True}], "else": False}
        self.assertIs(evaluate(flag, "f", {}), False)
        self.assertIs(evaluate(flag, "f", {"user": "ada"}), True)

    def test_bucket(self):
        self.assertEqual(bucket("a", "b"), 8144)


if __name__ == "__main__":
    unittest.main()
