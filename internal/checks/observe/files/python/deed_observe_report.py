"""A report of one run of a runner: a directory of its own, with what happened as JSON lines, each written as it happens."""

import json
import os
import sys
import time

REPORTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "reports")
INSIDE = "DEED_OBSERVE_INSIDE"


class Report:
    """A report hides the runs below it and beside it in the same process: they are not observed."""

    def __init__(self, runner):
        self.process = os.getpid()
        self.path = os.path.join(REPORTS, "%s.%d-%x" % (runner, self.process, time.monotonic_ns() if sys.version_info >= (3, 7) else int(time.time() * 1e9)))
        os.mkdir(self.path)
        with open(os.path.join(self.path, "cwd"), "wb") as f:
            f.write(os.fsencode(os.getcwd()))
        self.file = os.open(os.path.join(self.path, "report.events"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.environ[INSIDE] = runner

    def line(self, event, test):
        if self.file is None:
            return
        test["event"] = event
        text = json.dumps({k: v for k, v in test.items() if v is not None}) + "\n"
        try:
            os.write(self.file, text.encode("utf-8", "replace"))
        except OSError:  # the test has closed our file: the report then has no end, which is seen
            self.file = None

    def start(self, **test):
        self.line("start", test)

    def test(self, **test):
        self.line("test", test)

    def end(self):
        if self.file is None or os.getpid() != self.process:  # a child that was forked inherits the report, and does not end it
            return
        os.close(self.file)
        self.file = None
        with open(os.path.join(self.path, "end"), "wb"):
            pass
        os.environ.pop(INSIDE, None)


def begin(runner):
    """Returns a report, or None below another one."""
    return None if os.environ.get(INSIDE) else Report(runner)
