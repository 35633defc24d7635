"""Runs unittest with the arguments as they are and writes each result as TAP to the file that is the first of them, when it is there:
what is written tells which test was not done when the program ended early."""

import os
import sys
import unittest

tests = 0
report = sys.argv.pop(1)
owner = os.getpid()


def write(text):
    if os.getpid() != owner:
        return  # a test forked, and this is its copy
    with open(report, "a", encoding="utf-8", errors="replace") as f:
        f.write(text)


def name_of(test):
    return test.id().replace("#", "\\#").replace("\n", " ")


def tell(ok, test, note="", why=""):
    global tests
    if not tests:
        write("TAP version 13\n")
    tests += 1
    text = f"{'ok' if ok else 'not ok'} {tests} - {name_of(test)}{note}\n"
    if why:
        text += "  ---\n  message: |\n" + "".join(f"    {line}\n" for line in why.splitlines()[-20:]) + "  ...\n"
    write(text)


def journal(word, test):
    if os.getpid() == owner:
        with open(os.path.join(os.path.dirname(report), "begun"), "a", encoding="utf-8", errors="replace") as f:
            f.write(f"{word} {name_of(test)}\n")


class Result(unittest.TextTestResult):
    def startTest(self, test):
        super().startTest(test)
        self.broken = []  # of its subtests
        journal("begin", test)

    def stopTest(self, test):
        super().stopTest(test)
        if self.broken:
            tell(False, test, why="".join(self.broken))
        journal("end", test)

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

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.broken.append(f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        tell(False, test, why="it passed, and was expected to fail")


sys.argv[0] = "python -m unittest"
sys.path.insert(0, "")
program = unittest.main(module=None, exit=False, testRunner=unittest.TextTestRunner(resultclass=Result, verbosity=2))
if tests:
    write(f"1..{tests}\n")
if program.result.testsRun == 0 and not program.result.skipped:
    print("NO TESTS RAN", file=sys.stderr)
sys.exit(not program.result.wasSuccessful())
