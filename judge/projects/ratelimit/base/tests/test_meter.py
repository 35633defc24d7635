import threading

from ratelimit import Meter


def test_rate():
    meter = Meter()
    meter.add(10)
    assert meter.rate(4) == 2.5
    assert meter.rate(0) == 0.0


def test_many_threads():
    meter = Meter()

    def work():
        for _ in range(500):
            meter.add()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert meter.count() == 2000
