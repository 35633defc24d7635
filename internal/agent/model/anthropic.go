package model

import (
	"context"
	"encoding/json"
	"io"
)

const (
	// opaqueAnthropic marks content blocks of Anthropic's own: thinking with its signature, redacted thinking, and whatever
	// else its answers hold that is neither text nor a call.
	opaqueAnthropic = "anthropic"
	// anthropicVersion is that of the Messages API, the only one there is.
	anthropicVersion = "2023-06-01"
)

type anthropicClient struct{ options Options }

// NewAnthropic makes a client of the Messages API. Nothing is taken from ANTHROPIC_* variables or profiles.
func NewAnthropic(o Options) (Client, error) {
	o, err := o.resolve("anthropic", AnthropicURL)
	if err != nil {
		return nil, err
	}
	return &anthropicClient{options: o}, nil
}

func (c *anthropicClient) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	body, err := anthropicBody(req)
	if err != nil {
		return Response{}, err
	}
	a := anthropicAnswer{on: on}
	err = c.options.ask(ctx, question{eventStream, "v1/messages", c.headers(), body, func(call *call, in io.Reader) (bool, error) {
		a.call = call
		err := eachEvent(in, func(e event) (bool, error) { return false, a.add(e) })
		return a.complete, err
	}})
	if err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

func (c *anthropicClient) headers() map[string]string {
	headers := map[string]string{"Accept": acceptJSON, "Anthropic-Version": anthropicVersion}
	if c.options.Key != "" {
		headers["X-Api-Key"] = c.options.Key
	}
	return headers
}

type anthropicRequest struct {
	Model        string             `json:"model"`
	MaxTokens    int                `json:"max_tokens"`
	CacheControl anthropicType      `json:"cache_control"`
	System       []anthropicText    `json:"system,omitempty"`
	Messages     []anthropicMessage `json:"messages"`
	Tools        []anthropicTool    `json:"tools,omitempty"`
	Stream       bool               `json:"stream"`
}

type anthropicType struct {
	Type string `json:"type"`
}

type anthropicText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
}

type anthropicToolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type anthropicToolResult struct {
	Type      string          `json:"type"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []anthropicText `json:"content"`
	IsError   bool            `json:"is_error"`
}

type anthropicTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"input_schema"`
}

func anthropicBody(req Request) ([]byte, error) {
	out := anthropicRequest{
		Model: req.Model, MaxTokens: orDefault(req.MaxOutput, DefaultMaxOutput), Stream: true,
		// Up to the end of the conversation: each turn repeats all that came before.
		CacheControl: anthropicType{"ephemeral"},
	}
	if req.System != "" {
		out.System = []anthropicText{{"text", req.System}}
	}
	for _, m := range req.Messages {
		message := anthropicMessage{Role: m.Role}
		for _, b := range m.Blocks {
			if block := anthropicBlock(b); block != nil {
				message.Content = append(message.Content, block)
			}
		}
		if len(message.Content) > 0 {
			out.Messages = append(out.Messages, message)
		}
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, anthropicTool{t.Name, t.Description, schema})
	}
	return encode(out)
}

// anthropicBlock makes a content block, or nil of what is not for Anthropic.
func anthropicBlock(b Block) any {
	switch {
	case b.Text != "":
		return anthropicText{"text", b.Text}
	case b.Call != nil:
		return anthropicToolUse{"tool_use", b.Call.ID, b.Call.Name, b.Call.Input}
	case b.Result != nil:
		return anthropicToolResult{"tool_result", b.Result.CallID, []anthropicText{{"text", b.Result.Output}}, b.Result.Failed}
	case b.OpaqueKind == opaqueAnthropic && len(b.Opaque) > 0:
		return b.Opaque
	}
	return nil
}
