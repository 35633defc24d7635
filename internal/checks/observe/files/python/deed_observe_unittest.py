"""unittest: listens to the result of each run of a TextTestRunner. Names are the ids of the tests, as from the top directory."""

import os
import sys
import time
import traceback

import deed_observe_report


def script_name():
    """The module that a script of tests would be if unittest had found it."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return spec.name
    path = os.path.abspath(getattr(main, "__file__", None) or "__main__")
    directory, name = os.path.split(path)
    names = [os.path.splitext(name)[0]]
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory, package = os.path.split(directory)
        names.insert(0, package)
    return ".".join(names)


def name_of(test):
    name = test.id()
    mark = "__main__."
    if name.startswith(mark):
        return script_name() + "." + name[len(mark) :]
    return name.replace("(" + mark, "(" + script_name() + ".") # setUpClass (__main__.X)


class Listener:
    """Stands behind the methods of a result."""

    def __init__(self, report, result):
        self.report = report
        self.failed = set()  # tests of which a part has failed
        self.began = {}
        for method in ("startTest", "addSuccess", "addFailure", "addError", "addSkip", "addExpectedFailure", "addUnexpectedSuccess", "addSubTest"):
            if hasattr(result, method):
                self.listen(result, method)

    def listen(self, result, method):
        act, told = getattr(self, method), getattr(result, method)

        def both(test, *args):
            told(test, *args)
            try:
                act(test, *args)
            except Exception:  # costs the report its end, which is seen, and the test nothing
                self.report.file = None

        setattr(result, method, both)

    def tell(self, test, status, message=None, kind=None):
        name = name_of(test)
        if name in self.failed:
            return
        if status == "failed":
            self.failed.add(name)
        began = self.began.get(name)
        took = None if began is None else round((time.perf_counter() - began) * 1000, 3)
        self.report.test(name=name, status=status, message=message, type=kind, duration_ms=took)

    def startTest(self, test):
        name = name_of(test)
        self.began[name] = time.perf_counter()
        self.failed.discard(name)  # it runs again
        self.report.start(name=name)

    def addSuccess(self, test):
        self.tell(test, "passed")

    def addFailure(self, test, err):
        self.tell(test, "failed", said(err), kind(err))

    addError = addFailure

    def addSkip(self, test, reason):
        self.tell(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.tell(test, "passed")

    def addUnexpectedSuccess(self, test):
        self.tell(test, "failed", "it passed, and was expected to fail")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.tell(test, "failed", "%s\n%s" % (subtest.id(), said(err)), kind(err))


def said(err):
    if isinstance(err, tuple):
        return "".join(traceback.format_exception(*err))
    return str(err)


def kind(err):
    return getattr(err[0], "__name__", None) if isinstance(err, tuple) else None


def let_in(runner_module):
    runner = runner_module.TextTestRunner
    run, make = runner.run, runner._makeResult

    def observed_run(self, test):
        report = deed_observe_report.begin("unittest")
        if report is None:
            return run(self, test)
        self._deed_report = report
        result = run(self, test)
        report.end()
        return result

    def observed_make(self, *args, **kwargs):
        result = make(self, *args, **kwargs)
        report = self.__dict__.pop("_deed_report", None)
        if report is not None:
            Listener(report, result)
        return result

    runner.run, runner._makeResult = observed_run, observed_make
