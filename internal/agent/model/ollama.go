package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// opaqueOllama marks thinking, which goes back with the message that it belongs to.
const opaqueOllama = "ollama_thinking"

// maxOllamaLine bounds one piece of an answer.
const maxOllamaLine = 32 << 20

// ndjson is what Ollama answers with.
const ndjson = "application/x-ndjson"

// An ollamaClient asks one of Ollama's own interfaces.
type ollamaClient struct {
	options Options
	path    string
	body    func(Options, Request) ([]byte, error)
}

// NewOllama makes a client of Ollama's own chat interface. It is written here because Ollama's Go package brings some eighty
// modules with it. Requests forbid the server to drop the beginning of a conversation that is too long or to go on past the
// window: both are errors instead.
func NewOllama(o Options) (Client, error) {
	o, err := o.resolve("ollama", OllamaURL)
	if err != nil {
		return nil, err
	}
	return &ollamaClient{o, "api/chat", chatBody}, nil
}

type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []ollamaTool    `json:"tools,omitempty"`
	Stream   bool            `json:"stream"`
	Truncate bool            `json:"truncate"`
	Shift    bool            `json:"shift"`
	Options  map[string]int  `json:"options,omitempty"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking,omitempty"`
	ToolCalls  []ollamaCall `json:"tool_calls,omitempty"`
	ToolName   string       `json:"tool_name,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string         `json:"id,omitempty"`
	Function ollamaFunction `json:"function"`
}

type ollamaFunction struct {
	Index     int             `json:"index,omitempty"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type ollamaTool struct {
	Type     string         `json:"type"`
	Function ollamaToolBody `json:"function"`
}

type ollamaToolBody struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
}

// ollamaPiece is one line of an answer.
type ollamaPiece struct {
	Model           string        `json:"model"`
	Message         ollamaMessage `json:"message"`
	Response        string        `json:"response"` // instead of a message, of the interface that completes a prompt
	Thinking        string        `json:"thinking"`
	Done            bool          `json:"done"`
	DoneReason      string        `json:"done_reason"`
	PromptEvalCount int64         `json:"prompt_eval_count"`
	EvalCount       int64         `json:"eval_count"`
	Error           string        `json:"error"`
}

func (c *ollamaClient) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	body, err := c.body(c.options, req)
	if err != nil {
		return Response{}, err
	}
	a := ollamaAnswer{on: on, turn: len(req.Messages)}
	err = c.options.ask(ctx, question{ndjson, c.path, c.options.bearer(ndjson), body, func(call *call, in io.Reader) (bool, error) {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, maxOllamaLine)
		for !a.complete && lines.Scan() {
			if err := a.add(call, lines.Bytes()); err != nil {
				return a.complete, err
			}
		}
		return a.complete, lines.Err()
	}})
	if err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

// ollamaOptions are what the model is loaded with and how much it may say.
func ollamaOptions(o Options, req Request) map[string]int {
	out := map[string]int{}
	if req.MaxOutput > 0 {
		out["num_predict"] = req.MaxOutput
	}
	if o.Window > 0 {
		out["num_ctx"] = o.Window
	}
	return out
}

func chatBody(o Options, req Request) ([]byte, error) {
	out := ollamaRequest{Model: req.Model, Stream: true, Options: ollamaOptions(o, req)}
	if req.System != "" {
		out.Messages = append(out.Messages, ollamaMessage{Role: "system", Content: req.System})
	}
	names := map[string]string{} // of the tools, by call
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, ollamaMessages(m, names)...)
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, ollamaTool{Type: "function", Function: ollamaToolBody{t.Name, t.Description, schema}})
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, &Error{Kind: KindBadRequest, Message: "the conversation cannot be written as JSON: " + err.Error()}
	}
	return body, nil
}

func ollamaMessages(m Message, names map[string]string) []ollamaMessage {
	var out []ollamaMessage
	said := ollamaMessage{Role: m.Role}
	var text []string
	for _, b := range m.Blocks {
		switch {
		case b.Text != "":
			text = append(text, b.Text)
		case b.Call != nil:
			names[b.Call.ID] = b.Call.Name
			said.ToolCalls = append(said.ToolCalls, ollamaCall{ID: b.Call.ID, Function: ollamaFunction{
				Index: len(said.ToolCalls), Name: b.Call.Name, Arguments: b.Call.Input,
			}})
		case b.Result != nil:
			out = append(out, ollamaMessage{
				Role: "tool", Content: b.Result.Output, ToolName: names[b.Result.CallID], ToolCallID: b.Result.CallID,
			})
		case b.OpaqueKind == opaqueOllama:
			if json.Unmarshal(b.Opaque, &said.Thinking) != nil {
				said.Thinking = ""
			}
		}
	}
	said.Content = strings.Join(text, "\n\n")
	if said.Content != "" || len(said.ToolCalls) > 0 {
		out = append(out, said)
	}
	return out
}

// ollamaAnswer puts an answer together.
type ollamaAnswer struct {
	on       func(Delta)
	turn     int // of the conversation, for the ids of calls that have none
	model    string
	thinking strings.Builder
	text     strings.Builder
	calls    []Call
	last     ollamaPiece
	complete bool
}

func (a *ollamaAnswer) add(call *call, line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var piece ollamaPiece
	if err := json.Unmarshal(line, &piece); err != nil {
		return fmt.Errorf("a line of the answer: %w", err)
	}
	if piece.Error != "" {
		return call.serviceError(fault{Message: piece.Error})
	}
	a.model = orText(piece.Model, a.model)
	text, thinking := orText(piece.Message.Content, piece.Response), orText(piece.Message.Thinking, piece.Thinking)
	a.thinking.WriteString(thinking)
	a.text.WriteString(text)
	deliver(a.on, Delta{Text: text})
	deliver(a.on, Delta{Thinking: thinking})
	for _, c := range piece.Message.ToolCalls {
		id := orText(c.ID, fmt.Sprintf("call_%d_%d", a.turn, len(a.calls)))
		arguments := string(c.Function.Arguments)
		var text string
		if json.Unmarshal(c.Function.Arguments, &text) == nil && text != "" {
			arguments = text // written as others do it
		}
		made := Call{ID: id, Name: c.Function.Name, Input: wrapInput(arguments)}
		a.calls = append(a.calls, made)
		deliver(a.on, Delta{Call: &Call{ID: made.ID, Name: made.Name}})
	}
	if piece.Done {
		a.last, a.complete = piece, true
	}
	return nil
}

func (a *ollamaAnswer) response() Response {
	r := Response{Served: a.model, Stop: StopEnd, Usage: agentruntime.Usage{
		Model: a.model, InputTokens: count(a.last.PromptEvalCount), OutputTokens: count(a.last.EvalCount),
	}}
	if raw, err := json.Marshal(a.thinking.String()); a.thinking.Len() > 0 && err == nil {
		r.Blocks = append(r.Blocks, Block{Opaque: raw, OpaqueKind: opaqueOllama})
	}
	if a.text.Len() > 0 {
		r.Blocks = append(r.Blocks, Block{Text: a.text.String()})
	}
	for i := range a.calls {
		r.Blocks = append(r.Blocks, Block{Call: &a.calls[i]})
		r.Stop = StopTools
	}
	if a.last.DoneReason == "length" {
		r.Stop = StopLength
	}
	return r
}
