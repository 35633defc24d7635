"""Chooses a version of every package that is needed."""


class Conflict(Exception):
    """No versions fit together."""


def solve(catalog, wanted):
    """Versions by name; wanted are pairs of name and range."""
    ranges = {}
    for name, allowed in wanted:
        ranges.setdefault(name, []).append(allowed)
    plan = _search(catalog, list(ranges), {}, ranges)
    if plan is None:
        raise Conflict("no versions fit together for %s" % ", ".join("%s %s" % pair for pair in wanted))
    return plan


def _search(catalog, names, plan, ranges):
    if not names:
        return plan
    name, *rest = names
    for version in catalog.versions(name):
        if not all(version in allowed for allowed in ranges[name]):
            continue
        added = {key: list(value) for key, value in ranges.items()}
        queue = list(rest)
        for other, allowed in catalog.needs(name, version):
            if other in plan and plan[other] not in allowed:
                break
            added.setdefault(other, []).append(allowed)
            if other not in plan and other not in queue and other != name:
                queue.append(other)
        else:
            found = _search(catalog, queue, {**plan, name: version}, added)
            if found is not None:
                return found
    return None
