import time

import pytest

from ratelimit import retry, with_jitter


class Flop:
    """Fails the first times."""

    def __init__(self, times):
        self.left = times
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise OSError("not yet")
        return "done"


def test_succeeds_at_last():
    work = Flop(2)
    assert retry(work, attempts=3, sleep=lambda _: None) == "done"
    assert work.calls == 3


def test_raises_the_last_error():
    work = Flop(5)
    with pytest.raises(OSError, match="not yet"):
        retry(work, attempts=4, sleep=lambda _: None)
    assert work.calls == 4


@pytest.mark.slow
def test_pauses_are_capped():
    start = time.monotonic()
    retry(Flop(5), attempts=6, base=0.1, cap=0.2)
    took = time.monotonic() - start
    assert 0.8 < took < 1.5


def test_jitter_spreads():
    draws = [with_jitter(1.0) for _ in range(12)]
    assert min(draws) < 0.6
    assert max(draws) <= 1.0
