import pytest

from depknot import Cycle, order

pytestmark = pytest.mark.usefixtures("deadline")


def test_what_is_needed_comes_first():
    assert order({"app": {"web", "log"}, "web": {"log"}, "log": set()}) == ["log", "web", "app"]


def test_alphabet_where_nothing_is_needed():
    assert order({"c": set(), "a": set(), "b": {"a"}}) == ["a", "c", "b"]


def test_names_outside_do_not_count():
    assert order({"a": {"libc"}}) == ["a"]


@pytest.mark.parametrize(
    "needs, want",
    [
        ({"a": {"b"}, "b": {"a"}}, "a -> b -> a"),
        ({"b": {"a"}, "c": {"b"}, "a": {"c"}, "d": set()}, "a -> c -> b -> a"),
        ({"x": {"x"}}, "x -> x"),
        ({"a": {"m"}, "m": {"n"}, "n": {"m"}}, "m -> n -> m"),
    ],
)
def test_cycles(needs, want):
    with pytest.raises(Cycle) as caught:
        order(needs)
    assert str(caught.value) == want
