"""A token bucket."""

import time


class TokenBucket:
    """Holds up to capacity tokens and gains per_second of them."""

    def __init__(self, capacity, per_second, clock=time.monotonic):
        if capacity <= 0 or per_second <= 0:
            raise ValueError("capacity and per_second must be positive")
        self.capacity = capacity
        self.per_second = per_second
        self.clock = clock
        self._tokens = float(capacity)
        self._seen = clock()

    def _refill(self):
        now = self.clock()
        gained = (now - self._seen) * self.per_second
        self._tokens = min(self.capacity, self._tokens + gained)
        self._seen = now

    def available(self):
        """Return the number of tokens that may be taken now."""
        self._refill()
        return self._tokens

    def take(self, count=1):
        """Take count tokens and return whether there were enough."""
        self._refill()
        if count > self._tokens:
            return False
        self._tokens -= count
        return True

    def wait_time(self, count=1):
        """Return the seconds until count tokens are there."""
        if count > self.capacity:
            raise ValueError("count: %r is more than the capacity %r" % (count, self.capacity))
        self._refill()
        return max(0.0, (count - self._tokens) / self.per_second)
