"""pytest: a plugin that is registered as soon as there is a configuration. Names are those of pytest's JUnit XML."""

import deed_observe_report


class Plugin:
    def __init__(self, report):
        self.report = report
        self.open = {}  # what is known of a test that has not ended, by its node id
        self.interrupted = False

    def case(self, nodeid):
        """The names as _pytest.junitxml.mangle_test_address makes them."""
        path, possible, params = nodeid.partition("[")
        names = path.split("::")
        names[0] = names[0].replace("/", ".")
        if names[0].endswith(".py"):
            names[0] = names[0][: -len(".py")]
        names[-1] += possible + params
        return {"suite": ".".join(names[:-1]), "name": names[-1]}

    def quietly(self, act, *args):
        """A fault in the plugin costs the report its end, which is seen, and the tests nothing."""
        try:
            act(*args)
        except Exception:
            self.report.file = None

    def pytest_runtest_logstart(self, nodeid, location):
        self.quietly(lambda: self.report.start(**self.case(nodeid)))

    def pytest_runtest_logreport(self, report):
        self.quietly(self.phase, report)

    def pytest_collectreport(self, report):
        if report.failed:
            self.quietly(self.not_loaded, report)

    def pytest_internalerror(self, excrepr):
        self.quietly(lambda: self.report.test(name="[suite]", status="failed", type="suite", message=str(excrepr)))

    def pytest_keyboard_interrupt(self, excinfo):
        # pytest itself stops in this way after errors in collection, and for --exitfirst.
        self.interrupted = type(excinfo.value).__name__ != "Interrupted"

    def end(self):
        if not self.interrupted:
            self.quietly(self.report.end)

    def phase(self, report):
        """Takes the setup, the call or the teardown of a test."""
        known = self.open.setdefault(report.nodeid, {"status": "passed", "seconds": 0.0})
        known["seconds"] += getattr(report, "duration", 0) or 0
        if report.failed:
            known["status"] = "failed"
            known["type"] = "failure" if report.when == "call" else "error"
            known.setdefault("message", text(report))
        elif report.skipped and known["status"] == "passed":
            known["status"] = "skipped"
            known["message"] = reason(report)
        if report.when == "teardown":
            self.tell(report)

    def tell(self, report):
        known = self.open.pop(report.nodeid)
        file, line, _ = report.location
        self.report.test(
            status=known["status"],
            type=known.get("type"),
            message=known.get("message"),
            duration_ms=round(known["seconds"] * 1000, 3),
            file=str(file).replace("\\", "/"),
            line=(line or 0) + 1,
            **self.case(report.nodeid)
        )

    def not_loaded(self, report):
        name = self.case(report.nodeid)
        module = ".".join(n for n in (name["suite"], name["name"]) if n)
        self.report.test(suite=module, name="[load]", status="failed", type="load", message=text(report))


def text(report):
    return getattr(report, "longreprtext", None) or str(report.longrepr or "")


def reason(report):
    if hasattr(report, "wasxfail"):
        return str(report.wasxfail)
    said = report.longrepr
    if isinstance(said, tuple) and len(said) == 3:
        said = said[2]
    said = str(said or "")
    return said[len("Skipped: ") :] if said.startswith("Skipped: ") else said


def let_in(config_module):
    get_config, prepare = config_module.get_config, config_module._prepareconfig
    reports = []

    def observed_get_config(*args, **kwargs):
        config = get_config(*args, **kwargs)
        report = deed_observe_report.begin("pytest")
        if report is not None:
            reports.append(report)
            plugin = Plugin(report)
            config.pluginmanager.register(plugin, "deed-observe")
            config.add_cleanup(plugin.end)
        return config

    def observed_prepare(*args, **kwargs):
        try:
            return prepare(*args, **kwargs)
        except BaseException:  # no test was asked for in a way that pytest understands
            while reports:
                reports.pop().end()
            raise

    config_module.get_config = observed_get_config
    config_module._prepareconfig = observed_prepare
