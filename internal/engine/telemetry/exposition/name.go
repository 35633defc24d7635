package exposition

import (
	"fmt"
	"slices"
	"strings"
)

// units are the words that Prometheus has for units.
var units = map[string]string{
	"d": "days", "h": "hours", "min": "minutes", "s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds",
	"By": "bytes", "KiBy": "kibibytes", "MiBy": "mebibytes", "GiBy": "gibibytes", "TiBy": "tibibytes",
	"KBy": "kilobytes", "MBy": "megabytes", "GBy": "gigabytes", "TBy": "terabytes",
	"m": "meters", "V": "volts", "A": "amperes", "J": "joules", "W": "watts", "g": "grams",
	"Cel": "celsius", "Hz": "hertz", "1": "", "%": "percent",
}

// rates are the words for what something is counted per.
var rates = map[string]string{"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}

func isWord(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isNameRune(c rune) bool { return isWord(c) || c == ':' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// metricName is the name of a measure for Prometheus: its words, its unit, and a suffix that says what it is, with underscores
// between them.
func metricName(name, unit, suffix string) (string, error) {
	words := strings.FieldsFunc(name, func(c rune) bool { return !isNameRune(c) })
	main, per := unitWords(unit)
	if slices.Contains(words, main) {
		main = ""
	}
	if per != "" {
		main = strings.TrimSuffix(main, "_")
	}
	for _, word := range []string{main, per} {
		if word != "" {
			words = append(words, word)
		}
	}
	if suffix != "" {
		words = append(slices.DeleteFunc(words, func(w string) bool { return w == suffix }), suffix)
	}
	out := strings.Join(words, "_")
	if out != "" && isDigit(out[0]) {
		out = "_" + out
	}
	if strings.Trim(out, "_") == "" {
		return "", fmt.Errorf("the measure %q has no letter or digit that Prometheus takes", name)
	}
	return out, nil
}

// unitWords are the word for a unit, and "per" with what it is per. What is in braces is a remark and no unit.
func unitWords(unit string) (main, per string) {
	main, per, _ = strings.Cut(unit, "/")
	word := func(unit string, of map[string]string) string {
		unit = strings.TrimSpace(unit)
		if strings.ContainsAny(unit, "{}") {
			return ""
		}
		if w, ok := of[unit]; ok {
			return w
		}
		return unit
	}
	main = clean(word(main, units))
	if per = word(per, rates); per != "" {
		per = strings.TrimSuffix(clean("per_"+per), "_")
	}
	if per == "per" {
		per = ""
	}
	return main, per
}

// clean makes every run of what is no letter, digit or colon one underscore, and none at the beginning.
func clean(text string) string { return strings.TrimPrefix(squeeze(text, isNameRune), "_") }

// squeeze makes every run of other runes one underscore.
func squeeze(text string, keep func(rune) bool) string {
	var b strings.Builder
	gap := false
	for _, c := range text {
		if keep(c) {
			b.WriteRune(c)
		} else if !gap {
			b.WriteByte('_')
		}
		gap = !keep(c)
	}
	return b.String()
}

// labelName is the name of an attribute for Prometheus.
func labelName(key string) (string, error) {
	out := squeeze(key, isWord)
	if len(key) >= 4 && strings.HasPrefix(key, "__") && strings.HasSuffix(key, "__") {
		out = "__" + squeeze(key[2:len(key)-2], isWord) + "__"
	}
	if out != "" && isDigit(out[0]) {
		out = "key_" + out
	}
	switch {
	case strings.Trim(out, "_") == "":
		return "", fmt.Errorf("the attribute %q has no letter or digit that Prometheus takes", key)
	case strings.HasPrefix(out, "__"):
		return "", fmt.Errorf("the attribute %q has a name that Prometheus keeps for itself", key)
	}
	return out, nil
}
