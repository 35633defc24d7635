import unittest

from shop.stock import OutOfStock, Stock


class StockTest(unittest.TestCase):
    def setUp(self):
        self.stock = Stock()
        self.stock.receive("nut", 10)

    def test_reserved_is_not_free(self):
        self.stock.reserve("nut", 4)
        self.assertEqual(self.stock.free("nut"), 6)
        self.assertEqual(self.stock.on_hand["nut"], 10)

    def test_too_much(self):
        with self.assertRaisesRegex(OutOfStock, "11 wanted, 10 free"):
            self.stock.reserve("nut", 11)

    def test_ship(self):
        self.stock.reserve("nut", 4)
        self.stock.ship("nut", 3)
        self.assertEqual(self.stock.free("nut"), 6)
        self.assertEqual(self.stock.on_hand["nut"], 7)

    def test_ship_unreserved(self):
        self.assertRaises(OutOfStock, self.stock.ship, "nut", 1)

    def test_receive_nothing(self):
        self.assertRaises(ValueError, self.stock.receive, "nut", 0)
