package workflow

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// Mermaid draws a definition as a state diagram in Mermaid's language, with the current state lit when it is given.
func Mermaid(d Definition, current string) string {
	var b strings.Builder
	line := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	name := map[string]string{}
	line("stateDiagram-v2")
	for i, s := range d.States {
		name[s.StateID] = fmt.Sprintf("s%d", i)
		text := s.StateID
		if s.TaskType != "" && s.TaskType != s.StateID {
			text += " (" + s.TaskType + ")"
		}
		line("    state %q as s%d", mermaidText(text), i)
	}
	line("    [*] --> %s", name[d.InitialState])
	for _, s := range d.States {
		for _, t := range s.Transitions {
			line("    %s --> %s: %s", name[s.StateID], name[t.NextState], mermaidText(t.Signal))
		}
		for _, signal := range s.CompletionSignals {
			line("    %s --> [*]: %s", name[s.StateID], mermaidText(signal))
		}
		if terminal(s) {
			line("    %s --> [*]", name[s.StateID])
		}
	}
	if id, ok := name[current]; ok {
		line("    classDef current fill:#1f6feb,color:#ffffff,stroke:#1f6feb")
		line("    class %s current", id)
	}
	return b.String()
}

// mermaidText keeps what Mermaid would read as its own out of a text.
func mermaidText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' || r == 0x7f:
			return ' '
		case strings.ContainsRune("\"`#;:{}<>\\%", r):
			return '_'
		}
		return r
	}, s)
}

// The measures of a drawing, in pixels.
const (
	boxHeight = 44
	gapX      = 56
	gapY      = 64
	margin    = 32
	charWidth = 8 // of the widest usual letter at this size: a box is wide enough for its text
	laneWidth = 26
)

// A box is a state in the drawing.
type box struct {
	state      agentruntime.WorkflowState
	layer      int
	x, y, w    int
	isEnd, now bool
}

// SVG draws a definition by itself: states in layers by their longest way from the start, ways down between the boxes, ways
// back at the right, ways over more than one layer at the left. It is light or dark as its reader is.
func SVG(d Definition, current string) string { return draw(d, current, svgStyle) }

// Drawing is SVG without a style of its own, for a page that has one: its classes are those of SVG's style.
func Drawing(d Definition, current string) string { return draw(d, current, "") }

func draw(d Definition, current, style string) string {
	boxes, width, height := layout(d, current)
	width = max(width, labelsEnd(d, boxes))
	left, right := lanes(d, boxes)
	shift := left*laneWidth + margin
	total := shift + width + right*laneWidth + labelRoom(d) + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		total, height, total, height, esc("workflow "+d.WorkflowType))
	b.WriteString(style + svgTip)
	fmt.Fprintf(&b, "<title>%s</title>\n", esc("workflow "+d.WorkflowType))
	drawEdges(&b, d, boxes, shift, width)
	for _, x := range boxes {
		class := "state"
		if x.isEnd {
			class += " end"
		}
		if x.now {
			class += " now"
		}
		fmt.Fprintf(&b, `<g class="%s"><rect x="%d" y="%d" width="%d" height="%d" rx="10"/>`, class, x.x+shift, x.y, x.w, boxHeight)
		if t := x.state.TaskType; t != "" {
			fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text><text class="type" x="%d" y="%d">%s</text></g>`+"\n",
				x.x+shift+x.w/2, x.y+19, esc(x.state.StateID), x.x+shift+x.w/2, x.y+35, esc(t))
			continue
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d">%s</text></g>`+"\n", x.x+shift+x.w/2, x.y+27, esc(x.state.StateID))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const svgStyle = `<style>
:root { color-scheme: light dark }
text { font: 14px system-ui, sans-serif; text-anchor: middle; fill: #1f2328 }
.type { font-size: 11px; fill: #59636e }
.label { font-size: 12px; fill: #59636e; text-anchor: start }
rect { fill: #f6f8fa; stroke: #8c959f; stroke-width: 1.5 }
path { fill: none; stroke: #8c959f; stroke-width: 1.5 }
.tip { fill: #8c959f; stroke: none }
.end rect { stroke-width: 3 }
.now rect { fill: #1f6feb; stroke: #1f6feb }
.now text, .now .type { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.type, .label { fill: #9198a1 }
rect { fill: #151b23; stroke: #656c76 }
path { stroke: #656c76 }
.tip { fill: #656c76 }
}
</style>
`

const svgTip = `<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="tip" d="M0 0 L8 4 L0 8 z"/></marker></defs>
`

func esc(s string) string { return html.EscapeString(strings.ToValidUTF8(s, "\uFFFD")) }

// layout gives every state its place. The width and height are those of the boxes and the margins above and below.
func layout(d Definition, current string) (boxes []box, width, height int) {
	g := newGraph(d.WorkflowDefinition)
	layers := g.layers()
	rows := map[int][]int{}
	for i, s := range d.States {
		w := max(len([]rune(s.StateID)), len([]rune(s.TaskType)))*charWidth + 28
		boxes = append(boxes, box{state: s, layer: layers[i], w: max(w, 110), isEnd: terminal(s), now: s.StateID == current})
		rows[layers[i]] = append(rows[layers[i]], i)
	}
	rowWidth := func(row []int) int {
		w := (len(row) - 1) * gapX
		for _, i := range row {
			w += boxes[i].w
		}
		return w
	}
	for _, row := range rows {
		width = max(width, rowWidth(row))
	}
	for layer, row := range rows {
		x := (width - rowWidth(row)) / 2
		for _, i := range row {
			boxes[i].x, boxes[i].y = x, margin+layer*(boxHeight+gapY)
			x += boxes[i].w + gapX
		}
		height = max(height, margin*2+layer*(boxHeight+gapY)+boxHeight)
	}
	return boxes, width, height
}

// layers returns the longest path from the start to each state, back edges left out. States that cannot be reached are
// placed below.
func (g graph) layers() []int {
	n := len(g.ids)
	forward := make([][]int, n)
	mark := make([]int, n)
	var order []int
	var visit func(i int)
	visit = func(i int) {
		mark[i] = 1
		for _, j := range g.out[i] {
			if mark[j] == 1 { // a way back
				continue
			}
			forward[i] = append(forward[i], j)
			if mark[j] == 0 {
				visit(j)
			}
		}
		mark[i] = 2
		order = append(order, i)
	}
	visit(g.initial)
	out := make([]int, n)
	most := 0
	for _, i := range slices.Backward(order) {
		for _, j := range forward[i] {
			out[j] = max(out[j], out[i]+1)
			most = max(most, out[j])
		}
	}
	for i := range n {
		if mark[i] == 0 {
			out[i] = most + 1
		}
	}
	return out
}

// An edge is a way from one box to another, with the signals that take it.
type edge struct {
	from, to int
	label    string
}

func edges(d Definition, boxes []box) []edge {
	index := map[string]int{}
	for i, x := range boxes {
		index[x.state.StateID] = i
	}
	var out []edge
	for i, s := range d.States {
		for _, t := range s.Transitions {
			j := index[t.NextState]
			if k := slices.IndexFunc(out, func(e edge) bool { return e.from == i && e.to == j }); k >= 0 {
				out[k].label += ", " + t.Signal
				continue
			}
			out = append(out, edge{i, j, t.Signal})
		}
	}
	return out
}

// lanes counts the edges that are drawn next to the boxes.
func lanes(d Definition, boxes []box) (left, right int) {
	for _, e := range edges(d, boxes) {
		switch down := boxes[e.to].layer - boxes[e.from].layer; {
		case down < 1:
			right++
		case down > 1:
			left++
		}
	}
	return left, right
}

// labelsEnd is where the labels between the boxes end: the lanes at the right begin after it.
func labelsEnd(d Definition, boxes []box) int {
	end := 0
	for _, e := range edges(d, boxes) {
		f, t := boxes[e.from], boxes[e.to]
		if t.layer-f.layer == 1 {
			end = max(end, (f.x+f.w/2+t.x+t.w/2)/2+8+len([]rune(e.label))*charWidth-laneWidth/2)
		}
	}
	return end
}

// labelRoom is what the labels of the ways back need at the right.
func labelRoom(d Definition) int {
	longest := 0
	for _, s := range d.States {
		for _, t := range s.Transitions {
			longest = max(longest, len([]rune(t.Signal)))
		}
	}
	return longest*charWidth + 12
}

func drawEdges(b *strings.Builder, d Definition, boxes []box, shift, width int) {
	left, right := 0, 0
	_, lanesRight := lanes(d, boxes)
	for _, e := range edges(d, boxes) {
		f, t := boxes[e.from], boxes[e.to]
		fx, tx := f.x+shift+f.w/2, t.x+shift+t.w/2
		switch down := t.layer - f.layer; {
		case down == 1:
			fmt.Fprintf(b, `<path marker-end="url(#tip)" d="M%d %d C%d %d %d %d %d %d"/>`, fx, f.y+boxHeight, fx, f.y+boxHeight+gapY/2, tx, t.y-gapY/2, tx, t.y)
			fmt.Fprintf(b, `<text class="label" x="%d" y="%d">%s</text>`+"\n", (fx+tx)/2+8, (f.y+boxHeight+t.y)/2+4, esc(e.label))
		case down > 1:
			left++
			x := shift - left*laneWidth
			drawSide(b, x, f.x+shift, f.y+boxHeight/2+8, t.x+shift, t.y+boxHeight/2-8)
			fmt.Fprintf(b, `<text class="label" x="%d" y="%d">%s</text>`+"\n", x+6, (f.y+t.y+boxHeight)/2, esc(e.label))
		default:
			right++
			x := shift + width + right*laneWidth
			drawSide(b, x, f.x+shift+f.w, f.y+boxHeight/2-6, t.x+shift+t.w, t.y+boxHeight/2+6)
			// To the right of all lanes, so that no line runs through it.
			fmt.Fprintf(b, `<text class="label" x="%d" y="%d">%s</text>`+"\n", shift+width+lanesRight*laneWidth+6, (f.y+t.y+boxHeight)/2, esc(e.label))
		}
	}
}

// drawSide draws an edge along a lane next to the boxes.
func drawSide(b *strings.Builder, lane, fx, fy, tx, ty int) {
	fmt.Fprintf(b, `<path marker-end="url(#tip)" d="M%d %d C%d %d %d %d %d %d S%d %d %d %d"/>`, fx, fy, lane, fy, lane, fy, lane, (fy+ty)/2, lane, ty, tx, ty)
}
