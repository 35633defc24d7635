"""Reading, writing and splitting amounts."""

SYMBOLS = "€$£"


class AmountError(ValueError):
    """The text is not an amount."""


def parse_amount(text):
    """Return the whole cents that text stands for."""
    body = text.strip().strip(SYMBOLS).strip()
    negative = False
    if body.startswith("(") and body.endswith(")"):
        negative = True
        body = body[1:-1]
    elif body.startswith("-"):
        negative = True
        body = body[1:]
    body = body.strip().strip(SYMBOLS).strip().replace(",", "")
    whole, dot, fraction = body.partition(".")
    if not whole.isdigit() or (dot and not fraction.isdigit()) or len(fraction) > 2:
        raise AmountError("not an amount: %r" % text)
    cents = int(whole) * 100 + int((fraction + "00")[:2])
    return -cents if negative else cents


def format_amount(cents, symbol=""):
    """Return cents as text, with thousands separators."""
    sign = "-" if cents < 0 else ""
    whole, fraction = divmod(abs(cents), 100)
    return "%s%s%s.%02d" % (sign, symbol, format(whole, ","), fraction)


def split_evenly(total, parts):
    """Split total cents into parts that differ by one cent at most."""
    if parts < 1:
        raise ValueError("parts: %d, must be at least 1" % parts)
    each, rest = divmod(total, parts)
    return [each + 1] * rest + [each] * (parts - rest)
