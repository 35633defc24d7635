"""The catalogue: books by id."""

import json
import unicodedata


class Book:
    def __init__(self, id, title, author, year, copies=1):
        self.id = id
        self.title = title
        self.author = author
        self.year = year
        self.copies = copies

    def __repr__(self):
        return "Book(%r)" % self.id


class Catalog:
    def __init__(self, books):
        self.books = {book.id: book for book in books}

    @classmethod
    def load(cls, path):
        with open(path, encoding="utf-8") as source:
            return cls(Book(**row) for row in json.load(source))

    def search(self, words):
        """Return the books that contain every word, oldest first."""
        wanted = fold(words).split()
        found = []
        for book in self.books.values():
            text = fold(book.title + " " + book.author)
            if all(word in text for word in wanted):
                found.append(book)
        return sorted(found, key=lambda book: (book.year, book.id))


def fold(text):
    """Return text without case and accents."""
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()
