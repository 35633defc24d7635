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

// A vendorAnthropic asks by Anthropic's own package. It is what the client of the program has to agree with, in what it
// sends and in what it makes of an answer.
type vendorAnthropic struct{ options Options }

// NewVendorAnthropic is NewAnthropic by Anthropic's own package.
func NewVendorAnthropic(o Options) (Client, error) {
	o, err := o.resolve("anthropic", AnthropicURL)
	if err != nil {
		return nil, err
	}
	return &vendorAnthropic{options: o}, nil
}

func (c *vendorAnthropic) service(call *call) anthropic.MessageService {
	opts := []option.RequestOption{
		option.WithBaseURL(c.options.BaseURL), option.WithHTTPClient(call), option.WithMaxRetries(0), option.WithoutOpenTelemetry(),
	}
	if c.options.Key != "" {
		opts = append(opts, option.WithAPIKey(c.options.Key))
	}
	return anthropic.NewMessageService(opts...)
}

func (c *vendorAnthropic) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	params, err := vendorMessages(req)
	if err != nil {
		return Response{}, err
	}
	call := c.options.begin(ctx, "text/event-stream")
	defer call.end()
	service := c.service(call)
	stream := service.NewStreaming(call.ctx, params)
	defer func() { _ = stream.Close() }()

	a := vendorAnswer{on: on}
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
		return Response{}, call.serviceError(parseFault([]byte(api.RawJSON())))
	}
	if err := call.outcome(err, a.complete); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

func vendorMessages(req Request) (anthropic.MessageNewParams, error) {
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(req.Model),
		MaxTokens: int64(orDefault(req.MaxOutput, DefaultMaxOutput)),
		// Up to the end of the conversation: each turn repeats all that came before.
		CacheControl: anthropic.NewCacheControlEphemeralParam(),
	}
	if req.System != "" {
		params.System = []anthropic.TextBlockParam{{Text: req.System}}
	}
	for _, m := range req.Messages {
		message := anthropic.MessageParam{Role: anthropic.MessageParamRole(m.Role)}
		for _, b := range m.Blocks {
			if block, ok := vendorBlock(b); ok {
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

func vendorBlock(b Block) (anthropic.ContentBlockParamUnion, bool) {
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

// vendorAnswer lets the package put an answer together, and keeps the input of calls itself: the package empties what is
// not JSON.
type vendorAnswer struct {
	on       func(Delta)
	message  anthropic.Message
	input    map[int64][]byte // the text of each call's input
	complete bool
}

func (a *vendorAnswer) add(event anthropic.MessageStreamEventUnion) error {
	if event.Type == "content_block_delta" && event.Delta.Type == "input_json_delta" {
		if a.input == nil {
			a.input = map[int64][]byte{}
		}
		a.input[event.Index] = append(a.input[event.Index], event.Delta.PartialJSON...)
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

func (a *vendorAnswer) response() Response {
	r := Response{
		Served: string(a.message.Model), ID: a.message.ID,
		Stop: anthropicStop(string(a.message.StopReason)), Usage: vendorUsage(a.message),
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

func vendorUsage(m anthropic.Message) agentruntime.Usage {
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
