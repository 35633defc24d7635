package exposition

import (
	"math"
	"strconv"
	"strings"
)

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// append writes a family in version 0.0.4 of the text format.
func (f *family) append(b []byte) []byte {
	b = append(append(append(append(b, "# HELP "...), f.name...), ' '), helpEscapes.Replace(f.help)...)
	b = append(append(append(append(b, "\n# TYPE "...), f.name...), ' '), f.kind...)
	b = append(b, '\n')
	for i := range f.series {
		s := &f.series[i]
		if f.kind != histogram {
			b = sample(b, f.name, s.labels, s.value)
			continue
		}
		for _, one := range s.buckets {
			b = sample(b, f.name+"_bucket", limited(s.labels, one.bound), float64(one.count))
		}
		if !s.infinite() {
			b = sample(b, f.name+"_bucket", limited(s.labels, math.Inf(1)), float64(s.count))
		}
		b = sample(b, f.name+"_sum", s.labels, s.value)
		b = sample(b, f.name+"_count", s.labels, float64(s.count))
	}
	return b
}

// limited adds the bound of a bucket to labels.
func limited(labels []label, bound float64) []label {
	return append(labels[:len(labels):len(labels)], label{"le", string(number(nil, bound))})
}

func sample(b []byte, name string, labels []label, value float64) []byte {
	b = appendLabels(append(b, name...), labels)
	return append(number(append(b, ' '), value), '\n')
}

func appendLabels(b []byte, labels []label) []byte {
	for i, l := range labels {
		if i == 0 {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, l.name...), `="`...), valueEscapes.Replace(l.value)...)
		b = append(b, '"')
	}
	if len(labels) > 0 {
		b = append(b, '}')
	}
	return b
}

// number writes a value as Prometheus reads it. Minus zero is zero.
func number(b []byte, v float64) []byte {
	switch {
	case v == 0:
		return append(b, '0')
	case math.IsInf(v, 1):
		return append(b, "+Inf"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
