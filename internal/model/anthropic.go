package model

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/deedrun/deed/contract/agentruntime"
)

// opaqueAnthropic marks content blocks of Anthropic's own: thinking with its signature, redacted thinking, and whatever
// else its answers hold that is neither text nor a call.
const opaqueAnthropic = "anthropic"

type anthropicClient struct{ options Options }

// NewAnthropic makes a client of the Messages API. Nothing is taken from ANTHROPIC_* variables or profiles.
func NewAnthropic(o Options) (Client, error) {
	o, err := o.resolve("anthropic", AnthropicURL)
	if err != nil {
		return nil, err
	}
	return &anthropicClient{options: o}, nil
}

// service makes the SDK's service for one call. The service alone is used, not the SDK's client: that one would take
// keys, addresses and headers from the environment.
func (c *anthropicClient) service(call *call) anthropic.MessageService {
	opts := []option.RequestOption{
		option.WithBaseURL(c.options.BaseURL), option.WithHTTPClient(call), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if c.options.Key != "" {
		opts = append(opts, option.WithAPIKey(c.options.Key))
	}
	return anthropic.NewMessageService(opts...)
}

func (c *anthropicClient) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	params, err := anthropicParams(req)
	if err != nil {
		return Response{}, err
	}
	call := c.options.begin(ctx, "text/event-stream")
	defer call.end()
	service := c.service(call)
	stream := service.NewStreaming(call.ctx, params)
	defer func() { _ = stream.Close() }()

	a := anthropicAnswer{on: on}
	for stream.Next() {
		if err = a.add(stream.Current()); err != nil {
			break
		}
	}
	if err == nil {
		err = stream.Err()
	}
	var api *anthropic.Error
	if errors.As(err, &api) { // an event of type error; statuses do not get this far
		return Response{}, call.told(parseFault([]byte(api.RawJSON())))
	}
	if err := call.outcome(err, a.complete); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

func anthropicParams(req Request) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(req.Model),
		MaxTokens: int64(or(req.MaxOutput, DefaultMaxOutput)),
		// Up to the end of the conversation: each turn repeats all that came before.
		CacheControl: anthropic.NewCacheControlEphemeralParam(),
	}
	if req.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: req.System}}
	}
	for _, m := range req.Messages {
		message := anthropic.MessageParam{Role: anthropic.MessageParamRole(m.Role)}
		for _, b := range m.Blocks {
			if block, ok := anthropicBlock(b); ok {
				message.Content = append(message.Content, block)
			}
		}
		if len(message.Content) > 0 {
			params.Messages = append(params.Messages, message)
		}
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description),
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema),
		}})
	}
	return params, nil
}

func anthropicBlock(b Block) (anthropic.ContentBlockParamUnion, bool) {
	switch {
	case b.Text != "":
		return anthropic.NewTextBlock(b.Text), true
	case b.Call != nil:
		return anthropic.NewToolUseBlock(b.Call.ID, b.Call.Input, b.Call.Name), true
	case b.Result != nil:
		return anthropic.NewToolResultBlock(b.Result.CallID, b.Result.Output, b.Result.Failed), true
	case b.OpaqueKind == opaqueAnthropic && len(b.Opaque) > 0:
		return param.Override[anthropic.ContentBlockParamUnion](b.Opaque), true
	}
	return anthropic.ContentBlockParamUnion{}, false
}

// anthropicAnswer puts an answer together. The SDK accumulates too, but empties the input of a call that is not JSON.
type anthropicAnswer struct {
	on       func(Delta)
	message  anthropic.Message
	input    map[int64][]byte // the text of each call's input
	complete bool
}

func (a *anthropicAnswer) add(event anthropic.MessageStreamEventUnion) error {
	if event.Type == "content_block_delta" && event.Delta.Type == "input_json_delta" {
		if a.input == nil {
			a.input = map[int64][]byte{}
		}
		a.input[event.Index] = append(a.input[event.Index], event.Delta.PartialJSON...)
		return nil
	}
	if err := a.message.Accumulate(event); err != nil {
		return err
	}
	switch event.Type {
	case "message_stop":
		a.complete = true
	case "content_block_start":
		if event.ContentBlock.Type == "tool_use" {
			deliver(a.on, Delta{Call: &Call{ID: event.ContentBlock.ID, Name: event.ContentBlock.Name}})
		}
	case "content_block_delta":
		deliver(a.on, Delta{Text: event.Delta.Text})
		deliver(a.on, Delta{Thinking: event.Delta.Thinking})
	}
	return nil
}

func (a *anthropicAnswer) response() Response {
	r := Response{
		Served: string(a.message.Model), ID: a.message.ID,
		Stop: anthropicStop(a.message.StopReason), Usage: anthropicUsage(a.message),
	}
	for i, b := range a.message.Content {
		switch b.Type {
		case "text":
			if b.Text != "" {
				r.Blocks = append(r.Blocks, Block{Text: b.Text})
			}
		case "tool_use":
			input, streamed := a.input[int64(i)]
			if !streamed {
				input = b.Input
			}
			r.Blocks = append(r.Blocks, Block{Call: &Call{ID: b.ID, Name: b.Name, Input: wrapInput(string(input))}})
		default:
			if raw := b.RawJSON(); json.Valid([]byte(raw)) {
				r.Blocks = append(r.Blocks, Block{Opaque: json.RawMessage(raw), OpaqueKind: opaqueAnthropic})
			}
		}
	}
	return r
}

func anthropicStop(reason anthropic.StopReason) string {
	switch reason {
	case anthropic.StopReasonToolUse:
		return StopTools
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonModelContextWindowExceeded:
		return StopLength
	case anthropic.StopReasonRefusal:
		return StopRefused
	}
	return StopEnd
}

// anthropicUsage adds up: Anthropic counts what was read from the cache and written to it beside the input.
func anthropicUsage(m anthropic.Message) agentruntime.Usage {
	u := m.Usage
	return agentruntime.Usage{
		Model:             string(m.Model),
		InputTokens:       count(u.InputTokens) + count(u.CacheReadInputTokens) + count(u.CacheCreationInputTokens),
		CachedInputTokens: count(u.CacheReadInputTokens),
		CacheWriteTokens:  count(u.CacheCreationInputTokens),
		OutputTokens:      count(u.OutputTokens),
		ReasoningTokens:   count(u.OutputTokensDetails.ThinkingTokens),
	}
}
