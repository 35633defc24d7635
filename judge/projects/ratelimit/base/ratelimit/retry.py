"""Retry with exponential backoff."""

import random
import time


def with_jitter(delay):
    """Return delay, shortened by up to a half at random."""
    return delay * (1 - random.random() / 2)


def retry(work, attempts=3, base=0.1, cap=2.0, sleep=time.sleep):
    """Call work until it returns; raise its last error after attempts calls."""
    if attempts < 1:
        raise ValueError("attempts: %r, must be at least 1" % attempts)
    delay = base
    for number in range(1, attempts + 1):
        try:
            return work()
        except Exception:
            if number == attempts:
                raise
        sleep(delay)
        delay = min(delay * 2, cap)
