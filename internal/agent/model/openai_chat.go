package model

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

// maxCallIndex bounds the index by which a chunk names its tool call.
const maxCallIndex = 1 << 10

type openAIChat struct{ options Options }

// NewOpenAIChat makes a client of Chat Completions, as OpenAI and many others offer it. Reasoning that such a service
// streams is passed on as Thinking and does not go back: there is no agreed form for that.
func NewOpenAIChat(o Options) (Client, error) {
	o, err := o.resolve("openai-compatible service", OpenAIURL)
	if err != nil {
		return nil, err
	}
	return &openAIChat{options: o}, nil
}

func (c *openAIChat) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	body, err := chatRequestBody(req, c.options.BaseURL)
	if err != nil {
		return Response{}, err
	}
	a := chatAnswer{on: on}
	err = c.options.ask(ctx, question{eventStream, "chat/completions", c.options.bearer(acceptJSON), body, func(call *call, in io.Reader) (bool, error) {
		err := eachOpenAI(call, in, func(data []byte) (bool, error) { return false, a.add(data) })
		return a.stop != "", err
	}})
	if err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

type chatRequest struct {
	Model               string            `json:"model"`
	MaxCompletionTokens int               `json:"max_completion_tokens,omitempty"`
	MaxTokens           int               `json:"max_tokens,omitempty"`
	Messages            []chatMessage     `json:"messages"`
	Tools               []chatTool        `json:"tools,omitempty"`
	Stream              bool              `json:"stream"`
	StreamOptions       chatStreamOptions `json:"stream_options"`
}

type chatStreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string         `json:"role"`
	Content    *string        `json:"content,omitempty"` // nil: an assistant's that only calls
	ToolCalls  []chatToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`
}

type chatToolCall struct {
	ID       string           `json:"id"`
	Type     string           `json:"type"`
	Function chatToolFunction `json:"function"`
}

type chatToolFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatToolBody `json:"function"`
}

type chatToolBody struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
}

func chatRequestBody(req Request, baseURL string) ([]byte, error) {
	out := chatRequest{Model: req.Model, Stream: true, StreamOptions: chatStreamOptions{IncludeUsage: true}}
	if req.MaxOutput > 0 {
		// The newer name is refused or ignored by many compatible services, and the older one by OpenAI's own models.
		if u, err := url.Parse(baseURL); err == nil && u.Hostname() == "api.openai.com" {
			out.MaxCompletionTokens = req.MaxOutput
		} else {
			out.MaxTokens = req.MaxOutput
		}
	}
	if req.System != "" {
		out.Messages = append(out.Messages, chatMessage{Role: "system", Content: &req.System})
	}
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, chatMessages(m)...)
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, chatTool{"function", chatToolBody{t.Name, t.Description, schema}})
	}
	return encode(out)
}

// chatMessages makes the messages of one: results of tools are messages of their own there.
func chatMessages(m Message) []chatMessage {
	var (
		out   []chatMessage
		text  []string
		calls []chatToolCall
	)
	for _, b := range m.Blocks {
		switch {
		case b.Text != "":
			text = append(text, b.Text)
		case b.Call != nil:
			calls = append(calls, chatToolCall{b.Call.ID, "function", chatToolFunction{b.Call.Name, string(b.Call.Input)}})
		case b.Result != nil:
			out = append(out, chatMessage{Role: "tool", Content: &b.Result.Output, ToolCallID: b.Result.CallID})
		}
	}
	said := strings.Join(text, "\n\n")
	switch {
	case m.Role == RoleAssistant && (said != "" || len(calls) > 0):
		message := chatMessage{Role: RoleAssistant, ToolCalls: calls}
		if said != "" {
			message.Content = &said
		}
		out = append(out, message)
	case m.Role != RoleAssistant && said != "":
		out = append(out, chatMessage{Role: RoleUser, Content: &said})
	}
	return out
}

// chatChunk is one piece of an answer.
type chatChunk struct {
	ID      looseText `json:"id"`
	Model   looseText `json:"model"`
	Choices []struct {
		Index        looseInt  `json:"index"`
		Delta        chatDelta `json:"delta"`
		FinishReason looseText `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

type chatDelta struct {
	Content          looseText       `json:"content"`
	Refusal          looseText       `json:"refusal"`
	ToolCalls        []chatPart      `json:"tool_calls"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
}

// thinking reads the members under which compatible services stream reasoning.
func (d *chatDelta) thinking() string {
	for _, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning} {
		var text string
		if len(raw) > 0 && json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

// chatPart is a piece of a call.
type chatPart struct {
	Index    looseInt  `json:"index"`
	ID       looseText `json:"id"`
	Function struct {
		Name      looseText `json:"name"`
		Arguments looseText `json:"arguments"`
	} `json:"function"`
}

type chatUsage struct {
	Prompt        looseInt `json:"prompt_tokens"`
	Completion    looseInt `json:"completion_tokens"`
	PromptDetails struct {
		Cached     looseInt `json:"cached_tokens"`
		CacheWrite looseInt `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning looseInt `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// chatAnswer puts an answer together.
type chatAnswer struct {
	on     func(Delta)
	id     string
	model  string
	text   strings.Builder
	calls  []chatCall
	stop   string // the service's word; empty: the end was not seen
	refuse bool
	usage  agentruntime.Usage
}

type chatCall struct {
	id, name  string
	arguments []byte
}

func (a *chatAnswer) add(data []byte) error {
	var chunk chatChunk
	if err := decode(data, &chunk); err != nil {
		return fmt.Errorf("an event of the answer: %w", err)
	}
	a.id, a.model = orText(string(chunk.ID), a.id), orText(string(chunk.Model), a.model)
	if chunk.Usage != nil {
		a.usage = chunk.Usage.usage()
	}
	for i := range chunk.Choices {
		choice := &chunk.Choices[i]
		if choice.Index != 0 {
			continue
		}
		text, refusal := string(choice.Delta.Content), string(choice.Delta.Refusal)
		a.text.WriteString(text)
		a.text.WriteString(refusal)
		a.refuse = a.refuse || refusal != ""
		deliver(a.on, Delta{Text: text + refusal})
		deliver(a.on, Delta{Thinking: choice.Delta.thinking()})
		for j := range choice.Delta.ToolCalls {
			a.addCall(&choice.Delta.ToolCalls[j])
		}
		a.stop = orText(string(choice.FinishReason), a.stop)
	}
	return nil
}

func (a *chatAnswer) addCall(part *chatPart) {
	if part.Index < 0 || part.Index > maxCallIndex {
		return
	}
	i, id, name := int(part.Index), string(part.ID), string(part.Function.Name)
	// Some services give every call the index 0: another id is another call.
	if i < len(a.calls) && id != "" && a.calls[i].id != "" && a.calls[i].id != id {
		i = slices.IndexFunc(a.calls, func(c chatCall) bool { return c.id == id })
		if i < 0 {
			i = len(a.calls)
		}
	}
	for len(a.calls) <= i {
		a.calls = append(a.calls, chatCall{})
	}
	c := &a.calls[i]
	c.id = orText(id, c.id)
	if c.name == "" && name != "" {
		c.name = name
		deliver(a.on, Delta{Call: &Call{ID: c.id, Name: c.name}})
	}
	c.arguments = append(c.arguments, part.Function.Arguments...)
}

func (a *chatAnswer) response() Response {
	a.usage.Model = a.model
	r := Response{Served: a.model, ID: a.id, Usage: a.usage, Stop: StopEnd}
	if a.text.Len() > 0 {
		r.Blocks = append(r.Blocks, Block{Text: a.text.String()})
	}
	for i := range a.calls {
		c := &a.calls[i]
		if c.name == "" {
			continue // a hole in the indexes
		}
		r.Blocks = append(r.Blocks, Block{Call: &Call{ID: c.id, Name: c.name, Input: wrapInput(string(c.arguments))}})
		r.Stop = StopTools // some services say "stop" all the same
	}
	switch {
	case a.stop == "length":
		r.Stop = StopLength
	case a.stop == "content_filter", a.refuse && r.Stop == StopEnd:
		r.Stop = StopRefused
	}
	return r
}

func (u *chatUsage) usage() agentruntime.Usage {
	return agentruntime.Usage{
		InputTokens:       count(int64(u.Prompt)),
		CachedInputTokens: count(int64(u.PromptDetails.Cached)),
		CacheWriteTokens:  count(int64(u.PromptDetails.CacheWrite)),
		OutputTokens:      count(int64(u.Completion)),
		ReasoningTokens:   count(int64(u.CompletionDetails.Reasoning)),
	}
}
