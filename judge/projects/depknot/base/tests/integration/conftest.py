import pathlib
import subprocess
import sys

import pytest

from depknot import Catalog
from depknot.__main__ import make

TOP = pathlib.Path(__file__).parents[2]


@pytest.fixture
def plan_of():
    """The lines of a plan for a catalogue in a string."""

    def lines(text, *wanted):
        return make(Catalog(text), wanted).splitlines()

    return lines


@pytest.fixture
def command():
    def run(*args):
        return subprocess.run([sys.executable, "-m", "depknot", *map(str, args)], cwd=TOP, capture_output=True, encoding="utf-8")

    return run
