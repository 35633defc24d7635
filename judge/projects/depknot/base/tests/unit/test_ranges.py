import pytest

from depknot import Range, Taken, Unknown, schemes

SOME = '0.2 0.3 0.3.9 0.4 1 1.4 1.4.2 1.10 2 2.1'


@pytest.mark.parametrize('text, want', [
    ('*', SOME),
    ('1.4', '1.4'),
    ('=1.4.0', '1.4'),
    ('>=1.4 <2', '1.4 1.4.2 1.10'),
    ('<=0.3', '0.2 0.3'),
    ('>1.4.2 !=2', '1.10 2.1'),
    ('^1.4', '1.4 1.4.2 1.10'),
    ('^0.3', '0.3 0.3.9'),
    ('^0.2', '0.2'),
])
def test_inside(inside, text, want):
    assert inside(text, SOME) == want.split()


def test_yearly(inside):
    assert inside('^2023.2', '2023.1 2023.2 2023.11 2024.1', 'yearly') == ['2023.2', '2023.11']


@pytest.mark.parametrize('text', ['=>1', '^x', '1.', '>'])
def test_refused(text):
    with pytest.raises(ValueError):
        Range(text, schemes.get('dotted'))


def test_register(colours):
    @colours.register('red')
    class Red:
        pass

    assert isinstance(colours.get('red'), Red) and colours.names() == ['red']


def test_a_name_is_taken_once(colours):
    colours.register('red')(object)
    with pytest.raises(Taken, match='the colour red is there already'):
        colours.register('red')(object)


def test_unknown_name(colours):
    colours.register('red')(object)
    colours.register('blue')(object)
    with pytest.raises(Unknown, match=r'no colour green \(there are: blue, red\)'):
        colours.get('green')


def test_schemes():
    assert {'dotted', 'yearly'} <= set(schemes.names())
