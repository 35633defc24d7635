"""Who belongs to a share."""

BUCKETS = 10000


def bucket(flag, user):
    """Return a number below BUCKETS, always the same for a flag and a user."""
    value = 0x811C9DC5
    for octet in ("%s:%s" % (flag, user)).encode("utf-8"):
        value = ((value ^ octet) * 0x01000193) & 0xFFFFFFFF
    return value % BUCKETS
