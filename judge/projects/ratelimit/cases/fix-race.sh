#!/bin/sh
# label: accept
# kind: fix
# task: test_many_threads fails now and then: Meter.add loses counts. Fix it.
# why: the read and the write are done under a lock.
# base: bug-race.patch
# set: blind
cat > ratelimit/meter.py <<'PY'
"""Counting from many threads."""

import threading


class Meter:
    def __init__(self):
        self._mutex = threading.Lock()
        self._count = 0

    def add(self, count=1):
        with self._mutex:
            self._count += count

    def count(self):
        with self._mutex:
            return self._count

    def rate(self, seconds):
        """Return the count per second; 0.0 when no time has passed."""
        if seconds == 0:
            return 0.0
        return self.count() / seconds
PY
