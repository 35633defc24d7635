"""The loan desk."""

import datetime

PERIOD = datetime.timedelta(days=21)
PER_DAY = 20
AT_MOST = 1000


class NoCopyLeft(Exception):
    """All copies of the book are lent."""


class Desk:
    def __init__(self, catalog):
        self.catalog = catalog
        self.lent = []

    def lend(self, book_id, reader, day):
        book = self.catalog.books[book_id]
        out = [loan for loan in self.lent if loan[0] == book_id]
        if len(out) >= book.copies:
            raise NoCopyLeft(book_id)
        self.lent.append((book_id, reader, day))
        return day + PERIOD

    def give_back(self, book_id, reader, day):
        """Return the fine in cents."""
        for loan in self.lent:
            if loan[:2] == (book_id, reader):
                self.lent.remove(loan)
                return fine(loan[2], day)
        raise KeyError("%s has no loan of %s" % (reader, book_id))


def fine(lent, returned):
    """Return the fine in cents for a book lent and returned on these days."""
    late = (returned - (lent + PERIOD)).days
    return min(max(late, 0) * PER_DAY, AT_MOST)
