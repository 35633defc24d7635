import unittest

from shop.reorder import boxes_to_order, plan
from shop.stock import Stock


class ReorderTest(unittest.TestCase):
    def test_enough(self):
        self.assertEqual(boxes_to_order(11, 10, 50, 10), 0)

    def test_at_the_point(self):
        self.assertEqual(boxes_to_order(10, 10, 50, 10), 4)

    def test_whole_boxes_below_the_maximum(self):
        self.assertEqual(boxes_to_order(3, 10, 50, 12), 3)

    def test_plan(self):
        stock = Stock()
        stock.receive("nut", 5)
        stock.receive("bolt", 100)
        rules = {"nut": (5, 20, 5), "bolt": (10, 200, 50), "nail": (0, 30, 10)}
        self.assertEqual(plan(stock, rules), {"nail": 3, "nut": 3})
