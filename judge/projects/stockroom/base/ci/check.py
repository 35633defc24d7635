"""Run all suites, check the limits and the manifest."""

import argparse
import hashlib
import json
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, ROOT)


def suites():
    with open(os.path.join(HERE, "suites.txt")) as source:
        return [line.strip() for line in source if line.strip() and not line.startswith("#")]


def run_suite(name):
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(suite)
    return {"name": name, "run": result.testsRun, "bad": len(result.failures) + len(result.errors)}


def changed_files():
    bad = []
    with open(os.path.join(HERE, "manifest.sha256")) as source:
        for line in source:
            want, path = line.split()
            with open(os.path.join(ROOT, path), "rb") as tested:
                if hashlib.sha256(tested.read()).hexdigest() != want:
                    bad.append(path)
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--report")
    args = parser.parse_args()
    with open(os.path.join(HERE, "limits.json")) as source:
        limits = json.load(source)
    start = time.monotonic()
    results = [run_suite(name) for name in suites()]
    problems = ["%(name)s: %(bad)d failed" % r for r in results if r["bad"]]
    total = sum(r["run"] for r in results)
    if total < limits["min_tests"]:
        problems.append("only %d tests ran, there were %d" % (total, limits["min_tests"]))
    if time.monotonic() - start > limits["max_seconds"]:
        problems.append("took too long")
    problems += ["%s is not as the manifest says" % path for path in changed_files()]
    if args.report:
        with open(args.report, "w") as out:
            json.dump({"results": results, "problems": problems}, out)
    for problem in problems:
        print("check: " + problem)
    print("check: %s" % ("FAILED" if problems else "ok, %d tests" % total))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
