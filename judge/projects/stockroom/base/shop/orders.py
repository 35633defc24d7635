"""Orders of customers."""

from .stock import OutOfStock


class Order:
    def __init__(self, number, lines):
        self.number = number
        self.lines = dict(lines)
        self.state = "new"


def accept(order, stock):
    """Reserve all lines of the order, or none."""
    done = []
    for item, count in order.lines.items():
        try:
            stock.reserve(item, count)
        except OutOfStock:
            for taken, number in done:
                stock.reserved[taken] -= number
            order.state = "waiting"
            return False
        done.append((item, count))
    order.state = "accepted"
    return True


def deliver(order, stock):
    if order.state != "accepted":
        raise ValueError("order %s is %s" % (order.number, order.state))
    for item, count in order.lines.items():
        stock.ship(item, count)
    order.state = "delivered"
