"""Amounts are whole cents."""


def parse_amount(text):
    """Return the cents of "1,234.50"; an amount in brackets is negative."""
    cleaned = text.strip().replace(",", "").strip("()")
    sign = 1
    if cleaned.startswith("-"):
        sign, cleaned = -1, cleaned[1:]
    whole, _, cents = cleaned.partition(".")
    return sign * (int(whole) * 100 + int((cents + "00")[:2]))


def format_amount(cents):
    """Write cents the way the bank does."""
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}.{rest:02d}"
    return f"({text})" if cents < 0 else text
