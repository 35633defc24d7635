"""Stock levels."""


class OutOfStock(Exception):
    """There is not enough free stock."""


class Stock:
    def __init__(self):
        self.on_hand = {}
        self.reserved = {}

    def receive(self, item, count):
        if count < 1:
            raise ValueError("count: %d, must be at least 1" % count)
        self.on_hand[item] = self.on_hand.get(item, 0) + count

    def free(self, item):
        return self.on_hand.get(item, 0) - self.reserved.get(item, 0)

    def reserve(self, item, count):
        if count > self.free(item):
            raise OutOfStock("%s: %d wanted, %d free" % (item, count, self.free(item)))
        self.reserved[item] = self.reserved.get(item, 0) + count

    def ship(self, item, count):
        """Ship reserved stock."""
        if count > self.reserved.get(item, 0):
            raise OutOfStock("%s: %d were not reserved" % (item, count))
        self.reserved[item] -= count
        self.on_hand[item] -= count
