import filecmp
import pathlib
import time

import pytest

from depknot import Conflict, Shelf, stamp

CATALOGS = pathlib.Path(__file__).parent / "catalogs"
SMALL = "app 1: lib >=1\nlib 1:\nlib 2:\n"


def test_tower(command, tmp_path):
    out = tmp_path / "plan"
    done = command(CATALOGS / "tower.cat", "app", "web ^2", "--out", out)
    assert done.returncode == 0, done.stderr
    assert filecmp.cmp(out, CATALOGS / "tower.plan", shallow=False), out.read_text()


def test_newest_first(plan_of):
    assert plan_of(SMALL, "app") == ["lib 2", "app 1", "# 2 packages"]


def test_ranges_of_the_wish(plan_of):
    assert plan_of(SMALL, "app", "lib <2") == ["lib 1", "app 1", "# 2 packages"]


def test_one_package(plan_of):
    assert plan_of(SMALL, "lib 1")[-1] == "# 1 package"


def test_conflict(plan_of):
    with pytest.raises(Conflict, match="no versions fit together for app [*], lib >2"):
        plan_of(SMALL, "app", "lib >2")


def test_wrong_line(command, tmp_path):
    path = tmp_path / "wrong.cat"
    path.write_text("a 1:\nb one:\n")
    done = command(path, "a")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "depknot: line 2: 'one' is not a version\n"


@pytest.mark.slow
def test_shelf_reads_again(tmp_path):
    path = tmp_path / "small.cat"
    path.write_text("a 1:\n")
    shelf = Shelf(path, max_age=0.25)
    assert shelf.get().versions("a") == [(1,)]
    path.write_text("a 1:\na 2:\n")
    time.sleep(0.3)
    assert shelf.get().versions("a") == [(2,), (1,)]


def test_a_quick_plan_has_one_stamp(plan_of):
    before = stamp()
    plan_of(SMALL, "app")
    time.sleep(0.018)
    assert stamp() == before
