"""The old export format."""


def export(catalog):
    """Return one line per book: id|author|title|year."""
    lines = []
    for key in sorted(catalog.books):
        book = catalog.books[key]
        lines.append("|".join([book.id, book.author, book.title, str(book.year)]))
    return "\n".join(lines) + "\n"
