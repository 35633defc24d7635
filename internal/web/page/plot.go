package page

import (
	"fmt"
	"strings"
)

// A plot is a small picture of numbers over time. It is drawn with attributes alone, because the page allows no style of its own, and
// it says in words what it shows.
type plot struct {
	Width, Height int
	Bars          []bar
	Line          string // points of a line over the bars, "x,y x,y"
	Label         string // for those who do not see it
}

type bar struct {
	X, Y, W, H float64
	Class      string
	Title      string
}

// A slot is what happened in one stretch of time.
type slot struct {
	When      string
	Good, Bad int
}

// bars draws what went well and what did not, one upon the other.
func bars(slots []slot, width, height int) plot {
	p := plot{Width: width, Height: height}
	most, good, bad := 1, 0, 0
	for _, s := range slots {
		most = max(most, s.Good+s.Bad)
		good, bad = good+s.Good, bad+s.Bad
	}
	p.Label = fmt.Sprintf("%d accepted and %d not, at most %d at a time", good, bad, most)
	if len(slots) == 0 {
		return p
	}
	step := float64(width) / float64(len(slots))
	for i, s := range slots {
		unit := float64(height-1) / float64(most)
		x, y := float64(i)*step, float64(height)
		for _, part := range []struct {
			n     int
			class string
		}{{s.Good, "good"}, {s.Bad, "bad"}} {
			if part.n == 0 {
				continue
			}
			h := float64(part.n) * unit
			y -= h
			p.Bars = append(p.Bars, bar{X: round(x + 0.5), Y: round(y), W: round(step - 1), H: round(h), Class: part.class, Title: fmt.Sprintf("%s: %d accepted, %d not", s.When, s.Good, s.Bad)})
		}
	}
	return p
}

// ratio draws the part that went well as a line, in the stretches in which anything ended.
func ratio(slots []slot, width, height int) plot {
	p := plot{Width: width, Height: height, Label: "nothing ended yet"}
	var points []string
	good, all := 0, 0
	for i, s := range slots {
		n := s.Good + s.Bad
		good, all = good+s.Good, all+n
		if n == 0 {
			continue
		}
		x := (float64(i) + 0.5) * float64(width) / float64(len(slots))
		y := 1.5 + (1-float64(s.Good)/float64(n))*float64(height-3)
		points = append(points, fmt.Sprintf("%g,%g", round(x), round(y)))
	}
	if len(points) == 1 { // a line needs two ends
		_, y, _ := strings.Cut(points[0], ",")
		points = []string{"0," + y, fmt.Sprintf("%d,%s", width, y)}
	}
	p.Line = strings.Join(points, " ")
	if all > 0 {
		p.Label = fmt.Sprintf("%d of %d accepted, %d%%", good, all, 100*good/all)
	}
	return p
}

func round(f float64) float64 { return float64(int(f*10+0.5)) / 10 }
