"""Hiding of secrets."""

WORDS = ("password", "token", "secret")


def masked(document, section):
    """Return the items of section with secrets replaced by stars."""
    return {key: "***" if is_secret(key) and value else value for key, value in document.items(section).items()}


def is_secret(key):
    return any(word in key.lower() for word in WORDS)
