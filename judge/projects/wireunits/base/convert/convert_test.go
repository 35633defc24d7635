package convert

import (
	"math"
	"testing"
)

func near(t *testing.T, value float64, from, to string, want float64) {
	t.Helper()
	got, err := Value(value, from, to)
	if err != nil {
		t.Errorf("%v %s to %s: %v", value, from, to, err)
		return
	}
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%v %s to %s: got %v, want %v", value, from, to, got, want)
	}
}

func TestLengths(t *testing.T) {
	near(t, 1, "mi", "km", 1.609344)
	near(t, 12, "in", "ft", 1)
	near(t, 3, "ft", "yd", 1)
}

func TestMasses(t *testing.T) {
	near(t, 16, "oz", "lb", 1)
	near(t, 2, "t", "kg", 2000)
}

func TestTemperatures(t *testing.T) {
	near(t, 0, "C", "K", 273.15)
	near(t, 100, "C", "F", 212)
	near(t, -40, "F", "C", -40)
}

func TestKindsDoNotMix(t *testing.T) {
	if _, err := Value(1, "kg", "m"); err == nil {
		t.Error("no error")
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		text, to string
		digits   int
		want     string
	}{
		{"3.5 km", "m", 2, "3500 m"},
		{"1 mi", "km", 3, "1.609 km"},
		{"100 m", "km", 0, "0 km"},
		{"1000 g", "g", 0, "1000 g"},
		{"-0.001 m", "m", 1, "0 m"},
		{"90 min", "h", 3, "1.5 h"},
	} {
		got, err := Text(c.text, c.to, c.digits)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q %v, want %q", c.text, got, err, c.want)
		}
	}
}
