// Package observe owns how test runners are made to report their tests by name, whatever script starts them: it lays
// reporters, plugins and shims into a directory, extends the environment of a check so that the runners find them, and
// reads what they wrote. No command is recognised by its text. It starts nothing, and judges nothing.
//
//	node        a preload by NODE_OPTIONS adds a reporter to mocha, jest, vitest, ava and tap, and listens to node:test
//	python      a sitecustomize by PYTHONPATH lets a plugin into pytest, listens to unittest, and has tox pass it on
//	php         a file by PHP_INI_SCAN_DIR asks phpunit for one report more
//	go, cargo,  shims first on PATH: the real tool runs, people see what it says, and what it reports is kept
//	bats
//
// What a check runs can write to the directory, so a report is only a claim: it can even name tests that do not exist. Callers
// add tests of their own to the project's to see whether reports can be believed.
//
// A run of a runner is a directory in reports/, named after the runner: cwd (where it ran), report.FORMAT (what it reported while
// it ran) and end. One without end began and did not finish its report, which is no pass. A runner below another one, such as a
// worker or what a test starts by itself, is not observed: DEED_OBSERVE_INSIDE marks it.
package observe
