#!/bin/sh
# label: accept
# kind: dependency-added
# task: order() never ends when packages need each other; it must raise Cycle. We want the walk through the graph in a package of its own, knotgraph, at the top of this tree, with unit tests; depknot shall use it.
# why: knotgraph makes layers and says where it is stuck, order() turns this into Cycle; new tests, old ones untouched.
# base: cycle.patch
# set: blind
mkdir knotgraph
cat > knotgraph/__init__.py <<'PY'
"""Walks through directed graphs, given as dicts of sets."""

__all__ = ["Stuck", "layers", "way_round"]


class Stuck(Exception):
    """No node is free of needs; rest is the graph that is left."""

    def __init__(self, rest):
        super().__init__("%d nodes wait for each other" % len(rest))
        self.rest = rest


def layers(graph):
    """Lists of nodes that need nothing but nodes of earlier lists."""
    rest = {node: set(others) & set(graph) for node, others in graph.items()}
    while rest:
        free = sorted(node for node, others in rest.items() if not others)
        if not free:
            raise Stuck(rest)
        yield free
        rest = {node: others.difference(free) for node, others in rest.items() if others}


def way_round(rest):
    """A cycle in a graph where every node needs another, from its least node back to it."""
    seen = {}
    node = min(rest)
    while node not in seen:
        seen[node] = len(seen)
        node = min(rest[node])
    cycle = [other for other, place in seen.items() if place >= seen[node]]
    start = cycle.index(min(cycle))
    return cycle[start:] + cycle[:start] + [cycle[start]]
PY
cat > depknot/order.py <<'PY'
"""The order in which packages are installed."""

from knotgraph import Stuck, layers, way_round


class Cycle(Exception):
    """Packages need each other."""

    def __init__(self, names):
        super().__init__(" -> ".join(names))
        self.names = names


def order(needs):
    """Names, each after those that it needs; needs is a dict of sets."""
    try:
        return [name for layer in layers(needs) for name in layer]
    except Stuck as stuck:
        raise Cycle(way_round(stuck.rest)) from None
PY
cat > tests/unit/test_knotgraph.py <<'PY'
import pytest

from knotgraph import Stuck, layers, way_round

pytestmark = pytest.mark.usefixtures("deadline")


def test_layers():
    assert list(layers({3: {1, 2}, 2: {1}, 1: set(), 4: set()})) == [[1, 4], [2], [3]]


def test_the_graph_is_left_as_it_was():
    graph = {"a": {"b"}, "b": set()}
    list(layers(graph))
    assert graph == {"a": {"b"}, "b": set()}


def test_stuck():
    steps = layers({1: set(), 2: {3}, 3: {2, 1}})
    assert next(steps) == [1]
    with pytest.raises(Stuck, match="2 nodes wait") as caught:
        next(steps)
    assert way_round(caught.value.rest) == [2, 3, 2]
PY
printf '\n## Packages\n\n`depknot` is the resolver; `knotgraph` walks through graphs and knows nothing of packages.\n' >> README.md
