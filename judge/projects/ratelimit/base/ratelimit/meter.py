"""Counting from many threads."""

import threading


class Meter:
    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0

    def add(self, count=1):
        with self._lock:
            self._count += count

    def count(self):
        return self._count

    def rate(self, seconds):
        """Return the count per second; 0.0 when no time has passed."""
        if seconds == 0:
            return 0.0
        return self.count() / seconds
