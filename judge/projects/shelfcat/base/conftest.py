import datetime
import json
import pathlib

import pytest

from catalog import Catalog
from loans import Desk

FIXTURES = pathlib.Path(__file__).parent / "fixtures"


@pytest.fixture
def catalog():
    return Catalog.load(FIXTURES / "books.json")


@pytest.fixture
def desk(catalog):
    return Desk(catalog)


@pytest.fixture
def day():
    return datetime.date(2024, 1, 1)


def pytest_generate_tests(metafunc):
    if "fine_case" in metafunc.fixturenames:
        rows = json.loads((FIXTURES / "fines.json").read_text())
        metafunc.parametrize("fine_case", rows, ids=[row["returned"] for row in rows])
