"""Checks the promises of the README on other numbers."""

import sys
import threading

sys.path.insert(0, ".")
from ratelimit import Meter, TokenBucket, retry  # noqa: E402

now = [5.0]
bucket = TokenBucket(7, 2, lambda: now[0])
now[0] += 1000
assert bucket.available() == 7, bucket.available()
assert bucket.wait_time(7) == 0
bucket.take(7)
now[0] += 1
assert bucket.available() == 2
now[0] += 500
assert bucket.take(7) and not bucket.take(1)

pauses = []


def fail():
    raise KeyError("x")


try:
    retry(fail, attempts=7, base=0.5, cap=3.0, sleep=pauses.append)
except KeyError:
    pass
else:
    raise AssertionError("the error is lost")
assert pauses == [0.5, 1.0, 2.0, 3.0, 3.0, 3.0], pauses

for _ in range(3):
    meter = Meter()
    threads = [threading.Thread(target=lambda: [meter.add(2) for _ in range(3000)]) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert meter.count() == 36000, meter.count()
assert meter.rate(0) == 0.0 and meter.rate(2) == 18000
try:
    meter.rate("2")
except TypeError:
    pass
else:
    raise AssertionError("a bad argument is swallowed")
print("ok")
