import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from shop.orders import Order, accept  # noqa: E402
from shop.reorder import boxes_to_order  # noqa: E402
from shop.stock import Stock  # noqa: E402

bad = []
for args, want in [((20, 20, 100, 30), 2), ((21, 20, 100, 30), 0), ((0, 5, 9, 10), 0), ((1, 5, 9, 4), 2), ((0, 0, 6, 6), 1)]:
    if boxes_to_order(*args) != want:
        bad.append("boxes_to_order%r = %r, not %r" % (args, boxes_to_order(*args), want))
stock = Stock()
for item, count in (("a", 5), ("b", 5), ("c", 1)):
    stock.receive(item, count)
stock.reserve("a", 1)
order = Order(9, {"a": 4, "b": 5, "c": 2})
if accept(order, stock) or order.state != "waiting":
    bad.append("an order without stock is accepted")
if (stock.free("a"), stock.free("b"), stock.free("c")) != (4, 5, 1):
    bad.append("reservations of a refused order remain")
if not accept(Order(10, {"a": 4, "b": 1}), stock) or stock.free("a") != 0:
    bad.append("a good order is refused")
print("\n".join(bad) or "ok")
sys.exit(bool(bad))
