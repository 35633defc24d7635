#!/usr/bin/env python3
"""Tests of unitconv. Run this file."""

import contextlib
import io
import unittest

import unitconv


def run(*argv):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = unitconv.main(list(argv))
    return code, out.getvalue(), err.getvalue()


class ConvertTest(unittest.TestCase):
    def test_lengths(self):
        self.assertAlmostEqual(unitconv.convert(10, "mi", "km"), 16.09344)
        self.assertAlmostEqual(unitconv.convert(12, "in", "ft"), 1)

    def test_masses(self):
        self.assertAlmostEqual(unitconv.convert(16, "oz", "lb"), 1)
        self.assertAlmostEqual(unitconv.convert(2500, "g", "kg"), 2.5)

    def test_temperatures(self):
        self.assertAlmostEqual(unitconv.convert(20, "C", "F"), 68)
        self.assertAlmostEqual(unitconv.convert(-40, "F", "C"), -40)
        self.assertAlmostEqual(unitconv.convert(0, "K", "C"), -273.15)

    def test_below_absolute_zero(self):
        with self.assertRaisesRegex(unitconv.UnitError, "absolute zero"):
            unitconv.convert(-1, "K", "C")
        with self.assertRaisesRegex(unitconv.UnitError, "absolute zero"):
            unitconv.convert(-500, "F", "K")

    def test_mixed_kinds(self):
        with self.assertRaisesRegex(unitconv.UnitError, "cannot convert kg to m"):
            unitconv.convert(1, "kg", "m")


class CommandTest(unittest.TestCase):
    def test_prints_the_unit(self):
        self.assertEqual(run("10", "mi", "km"), (0, "16.0934 km\n", ""))
        self.assertEqual(run("20", "C", "F"), (0, "68 F\n", ""))

    def test_unknown_unit(self):
        code, out, err = run("1", "parsec", "m")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("unknown unit parsec", err)

    def test_not_a_number(self):
        self.assertEqual(run("x", "m", "m")[0], 2)

    def test_usage(self):
        self.assertEqual(run()[0], 2)


if __name__ == "__main__":
    unittest.main()
