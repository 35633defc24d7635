import pytest

from pyledger.__main__ import main
from pyledger.importer import ImportProblem, import_csv


def test_import(statement):
    ledger = import_csv(statement)
    assert ledger.balance("bank") == 250000 - 90000 - 3150


def test_import_names_the_row():
    with pytest.raises(ImportProblem, match="row 3"):
        import_csv("date,text,amount\n2024-01-01,a,1\n2024-01-02,b,x\n")


def test_main(tmp_path, statement, capsys):
    path = tmp_path / "s.csv"
    path.write_text(statement)
    assert main([str(path)]) == 0
    assert "1,568.50" in capsys.readouterr().out
