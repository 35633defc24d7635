package money_test

import (
	"testing"

	"example.test/money"
	"example.test/money/assert"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]money.Amount{"12": 1200, "12.3": 1230, "12.34": 1234, "-0.05": -5, "0": 0} {
		got, err := money.Parse(text)
		assert.NoError(t, err)
		assert.Equal(t, got, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "-", ".5", "1.", "1.234", "1,50", "--1", "1.-5", "+1"} {
		_, err := money.Parse(text)
		assert.Error(t, err, text)
	}
}

func TestString(t *testing.T) {
	assert.Equal(t, money.Amount(123456).String(), "1234.56")
	assert.Equal(t, money.Amount(-5).String(), "-0.05")
	assert.Equal(t, money.Amount(7).String(), "0.07")
}

func TestPercentRoundsHalfToEven(t *testing.T) {
	assert.Equal(t, money.Amount(1000).Percent(190), money.Amount(190))
	assert.Equal(t, money.Amount(50).Percent(50), money.Amount(2))
	assert.Equal(t, money.Amount(150).Percent(50), money.Amount(8))
	assert.Equal(t, money.Amount(-50).Percent(50), money.Amount(-2))
	assert.Equal(t, money.Amount(51).Percent(50), money.Amount(3))
}

func TestShare(t *testing.T) {
	assert.Equal(t, money.Amount(100).Share(3), []money.Amount{34, 33, 33})
	assert.Equal(t, money.Amount(5).Share(2), []money.Amount{3, 2})
}
