"""The order in which packages are installed."""


class Cycle(Exception):
    """Packages need each other."""

    def __init__(self, names):
        super().__init__(" -> ".join(names))
        self.names = names


def order(needs):
    """Names, each after those that it needs; needs is a dict of sets."""
    left = {name: set(others) & set(needs) for name, others in needs.items()}
    done = []
    while left:
        ready = sorted(name for name, others in left.items() if not others)
        if not ready:
            raise Cycle(_cycle(left))
        for name in ready:
            del left[name]
        for others in left.values():
            others.difference_update(ready)
        done += ready
    return done


def _cycle(left):
    """A way from a name back to it, where every name needs another one."""
    way = [min(left)]
    while True:
        following = min(left[way[-1]])
        if following in way:
            way = way[way.index(following):]
            first = way.index(min(way))
            return way[first:] + way[:first] + [way[first]]
        way.append(following)
