import signal

import pytest

from depknot import Range, Registry, schemes


@pytest.fixture
def inside():
    """Which of the versions lie in a range."""

    def chosen(text, versions, scheme="dotted"):
        scheme = schemes.get(scheme)
        allowed = Range(text, scheme)
        return [version for version in versions.split() if scheme.parse(version) in allowed]

    return chosen


@pytest.fixture
def colours():
    return Registry("colour")


@pytest.fixture
def deadline():
    """Ends a test that runs for more than a second."""

    def ring(number, frame):
        raise TimeoutError("the test takes too long")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
