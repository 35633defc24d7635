"""Runs unittest with the arguments as they are and writes each result as TAP to the file that is the first of them."""

import sys
import unittest

tests = []


def tell(ok, test, note="", why=""):
    name = test.id().replace("#", "\\#").replace("\n", " ")
    text = f"{'ok' if ok else 'not ok'} {len(tests) + 1} - {name}{note}\n"
    if why:
        text += "  ---\n  message: |\n" + "".join(f"    {line}\n" for line in why.splitlines()[-20:]) + "  ...\n"
    tests.append(text)


class Result(unittest.TextTestResult):
    def addSuccess(self, test):
        super().addSuccess(test)
        tell(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        tell(False, test, why=self._exc_info_to_string(err, test))

    def addError(self, test, err):
        super().addError(test, err)
        tell(False, test, why=self._exc_info_to_string(err, test))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        tell(True, test, " # SKIP " + " ".join(reason.split()))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        tell(True, test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        tell(False, test, why="it passed, and was expected to fail")


report = sys.argv.pop(1)
program = None
try:
    sys.argv[0] = "python -m unittest"
    sys.path.insert(0, "")
    program = unittest.main(module=None, exit=False, testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2))
finally:
    if tests:
        with open(report, "w", encoding="utf-8", errors="replace") as f:
            f.write("TAP version 13\n" + "".join(tests) + f"1..{len(tests)}\n")
if program.result.testsRun == 0 and not program.result.skipped:
    print("NO TESTS RAN", file=sys.stderr)
sys.exit(not program.result.wasSuccessful())
