import pytest

from ratelimit import TokenBucket


def test_starts_full(clock):
    bucket = TokenBucket(3, 1, clock)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_refills(clock):
    bucket = TokenBucket(2, 4, clock)
    bucket.take(2)
    clock.pass_(0.25)
    assert bucket.take()
    assert not bucket.take()


def test_never_above_capacity(clock):
    bucket = TokenBucket(3, 10, clock)
    clock.pass_(60)
    assert [bucket.take() for _ in range(4)] == [True, True, True, False]


def test_wait_time(clock):
    bucket = TokenBucket(2, 0.5, clock)
    bucket.take(2)
    assert bucket.wait_time() == pytest.approx(2.0)
    with pytest.raises(ValueError, match="more than the capacity"):
        bucket.wait_time(3)


def test_bad_arguments():
    with pytest.raises(ValueError):
        TokenBucket(0, 1)
