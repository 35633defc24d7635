import datetime
import itertools
import pathlib

import pytest
from goldenfile import Golden

from tickrule import parse, upcoming


def pytest_addoption(parser):
    parser.addoption("--regold", action="store_true", help="write the golden files again")


@pytest.fixture
def now():
    """A Tuesday morning on which the tests live."""
    return datetime.datetime(2021, 6, 1, 8, 0)


@pytest.fixture
def first(now):
    """The first times of a rule after now, as text."""

    def times(text, count, after=None):
        after = after or now
        return [time.strftime("%Y-%m-%d %H:%M") for time in itertools.islice(upcoming(parse(text), after), count)]

    return times


@pytest.fixture
def golden(request):
    return Golden(pathlib.Path(__file__).parent / "golden", rewrite=request.config.getoption("--regold"))
