from legacy_export import export


def test_export(catalog):
    lines = export(catalog).splitlines()
    assert lines[0] == "b1|Victor Hugo|Les Misérables|1862"
    assert len(lines) == 5
