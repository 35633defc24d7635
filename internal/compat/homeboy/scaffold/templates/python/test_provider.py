"""Run with: python3 -m unittest"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

COMMAND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "provider.py")
REQUEST = {"schema": "homeboy/agent-task-request/v1", "task_id": "t1", "executor": {"backend": "@NAME@", "config": {}}, "instructions": "hi"}


def run(text, *args):
    with tempfile.TemporaryDirectory() as directory:
        if not isinstance(text, str):
            text = json.dumps({**text, "artifacts_path": directory})
        done = subprocess.run([sys.executable, COMMAND, *args], input=text, cwd=directory, capture_output=True, text=True, timeout=60, check=True)
        outcome = json.loads(done.stdout)
        for artifact in outcome.get("artifacts", []):
            with open(artifact["path"], encoding="utf-8") as file:
                artifact["content"] = file.read()
        return outcome


class Provider(unittest.TestCase):
    def test_work(self):
        outcome = run(REQUEST)
        self.assertEqual((outcome["status"], outcome["task_id"]), ("succeeded", "t1"))
        self.assertEqual(outcome["artifacts"][0]["content"], "Hello! You said: hi\n")

    def test_invalid(self):
        for text in ["", "nonsense", "[]", "{}", {**REQUEST, "executor": {"backend": "other"}}, {**REQUEST, "instructions": " "}]:
            with self.subTest(text):
                outcome = run(text)
                self.assertEqual((outcome["status"], outcome["failure_classification"]), ("provider_error", "invalid_input"))

    def test_declaration(self):
        self.assertEqual(run("", "--provider-contract")["id"], "@NAME@.run")


if __name__ == "__main__":
    unittest.main()
