import unittest

from shop.orders import Order, accept, deliver
from shop.stock import Stock


class OrderTest(unittest.TestCase):
    def setUp(self):
        self.stock = Stock()
        self.stock.receive("nut", 10)
        self.stock.receive("bolt", 2)

    def test_accept_and_deliver(self):
        order = Order(1, {"nut": 3, "bolt": 2})
        self.assertTrue(accept(order, self.stock))
        deliver(order, self.stock)
        self.assertEqual(self.stock.on_hand, {"nut": 7, "bolt": 0})

    def test_all_or_nothing(self):
        order = Order(2, {"nut": 3, "bolt": 3})
        self.assertFalse(accept(order, self.stock))
        self.assertEqual(order.state, "waiting")
        self.assertEqual(self.stock.free("nut"), 10)
