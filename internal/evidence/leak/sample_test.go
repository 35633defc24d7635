package leak

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// sample makes a text that a pattern matches, so that the tests need no secret in this repository.
func sample(rnd *rand.Rand, re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(pick(rnd, re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "."
	case syntax.OpAlternate:
		return sample(rnd, re.Sub[rnd.IntN(len(re.Sub))])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := re.Min, re.Max
		switch re.Op {
		case syntax.OpStar:
			low, high = 0, 8
		case syntax.OpPlus:
			low, high = 1, 24
		case syntax.OpQuest:
			low, high = 0, 1
		}
		if high < 0 {
			high = low + 200
		}
		for range low + rnd.IntN(high-low+1) {
			b.WriteString(sample(rnd, re.Sub[0]))
		}
	default:
		for _, s := range re.Sub {
			b.WriteString(sample(rnd, s))
		}
	}
	return b.String()
}

// pick takes a character of a class: a letter or a digit, where it has any.
func pick(rnd *rand.Rand, class []rune) rune {
	var plain, all []rune
	for i := 0; i < len(class); i += 2 {
		for c := class[i]; c <= min(class[i+1], 0x7e); c++ {
			all = append(all, c)
			if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
				plain = append(plain, c)
			}
		}
	}
	if len(plain) > 0 {
		all = plain
	}
	return all[rnd.IntN(len(all))]
}
