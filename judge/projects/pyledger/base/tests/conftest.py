import pytest

from pyledger import Ledger

STATEMENT = """date,text,amount
2024-01-03,Salary,"2,500.00"
2024-01-04,Rent,-900.00
2024-01-09,Books,-31.5
"""


@pytest.fixture
def statement():
    return STATEMENT


@pytest.fixture
def ledger():
    book = Ledger()
    book.post("2024-01-01", "Start", cash=10000, capital=-10000)
    book.post("2024-01-05", "Lunch", cash=-1250, food=1250)
    book.post("2024-02-01", "Dinner", cash=-2199, food=2199)
    return book
