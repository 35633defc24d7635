package model

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A vendorResponses asks OpenAI's Responses by OpenAI's own package.
type vendorResponses struct{ options Options }

// NewVendorResponses is NewOpenAIResponses by OpenAI's own package.
func NewVendorResponses(o Options) (Client, error) {
	o, err := o.resolve("openai", OpenAIURL)
	if err != nil {
		return nil, err
	}
	return &vendorResponses{options: o}, nil
}

func vendorOptions(o Options, call *call) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithHTTPClient(call), option.WithMaxRetries(0),
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
	}
	return opts
}

func (c *vendorResponses) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	params, err := vendorResponsesParams(req)
	if err != nil {
		return Response{}, err
	}
	call := c.options.begin(ctx, "text/event-stream")
	defer call.end()
	service := responses.NewResponseService(vendorOptions(c.options, call)...)
	stream := service.NewStreaming(call.ctx, params)
	defer func() { _ = stream.Close() }()

	a := vendorResponsesAnswer{call: call, on: on}
	for err == nil && !a.complete && stream.Next() {
		err = a.add(stream.Current())
	}
	if err == nil {
		err = streamError(call, stream.Err())
	}
	if err := call.outcome(err, a.complete); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

// streamError reads an error that came as an event.
func streamError(call *call, err error) error {
	var told *ssestream.StreamError
	if errors.As(err, &told) {
		return call.serviceError(parseFault(told.Event.Data))
	}
	return err
}

func vendorResponsesParams(req Request) (responses.ResponseNewParams, error) {
	params := responses.ResponseNewParams{
		Model:   req.Model,
		Store:   param.NewOpt(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}
	if req.System != "" {
		params.Instructions = param.NewOpt(req.System)
	}
	if req.MaxOutput > 0 {
		params.MaxOutputTokens = param.NewOpt(int64(req.MaxOutput))
	}
	for _, m := range req.Messages {
		params.Input.OfInputItemList = append(params.Input.OfInputItemList, vendorItems(m)...)
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
			Strict: param.NewOpt(false), // strict schemas have no optional members
		}})
	}
	return params, nil
}

func vendorItems(m Message) []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	phase := ""
	for _, b := range m.Blocks {
		switch {
		case b.Text != "":
			item := responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRole(m.Role))
			item.OfMessage.Type = responses.EasyInputMessageTypeMessage
			item.OfMessage.Phase = responses.EasyInputMessagePhase(phase)
			items, phase = append(items, item), ""
		case b.Call != nil:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(string(b.Call.Input), b.Call.ID, b.Call.Name))
		case b.Result != nil:
			item := responses.ResponseInputItemParamOfFunctionCallOutput(b.Result.Output)
			item.OfFunctionCallOutput.CallID = param.NewOpt(b.Result.CallID)
			items = append(items, item)
		case b.OpaqueKind == opaqueOpenAI && len(b.Opaque) > 0:
			items = append(items, param.Override[responses.ResponseInputItemUnionParam](b.Opaque))
		case b.OpaqueKind == opaquePhase:
			if json.Unmarshal(b.Opaque, &phase) != nil {
				phase = ""
			}
		}
	}
	return items
}

type vendorResponsesAnswer struct {
	call     *call
	on       func(Delta)
	items    []responses.ResponseOutputItemUnion
	final    responses.Response
	complete bool
}

func (a *vendorResponsesAnswer) add(event responses.ResponseStreamEventUnion) error {
	switch event.Type {
	case "response.output_text.delta", "response.refusal.delta":
		deliver(a.on, Delta{Text: event.Delta})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		deliver(a.on, Delta{Thinking: event.Delta})
	case "response.output_item.added":
		if event.Item.Type == "function_call" {
			deliver(a.on, Delta{Call: &Call{ID: event.Item.CallID, Name: event.Item.Name}})
		}
	case "response.output_item.done":
		a.items = append(a.items, event.Item)
	case "response.completed", "response.incomplete":
		a.final, a.complete = event.Response, true
	case "response.failed":
		return a.call.serviceError(fault{Code: string(event.Response.Error.Code), Message: event.Response.Error.Message})
	case "error":
		return a.call.serviceError(fault{Code: event.Code, Message: event.Message})
	}
	return nil
}

func (a *vendorResponsesAnswer) response() Response {
	r := Response{Served: a.final.Model, ID: a.final.ID, Stop: StopEnd, Usage: vendorResponsesUsage(a.final)}
	items := a.items
	if len(items) == 0 {
		items = a.final.Output
	}
	refused := false
	for _, item := range items {
		switch item.Type {
		case "message":
			blocks, refusal := vendorText(item)
			r.Blocks = append(r.Blocks, blocks...)
			refused = refused || refusal
		case "function_call":
			r.Blocks = append(r.Blocks, Block{Call: &Call{
				ID: item.CallID, Name: item.Name, Input: wrapInput(item.Arguments.OfString),
			}})
			r.Stop = StopTools
		default:
			if raw := item.RawJSON(); json.Valid([]byte(raw)) {
				r.Blocks = append(r.Blocks, Block{Opaque: json.RawMessage(raw), OpaqueKind: opaqueOpenAI})
			}
		}
	}
	switch reason := a.final.IncompleteDetails.Reason; {
	case reason == "content_filter", refused && r.Stop == StopEnd:
		r.Stop = StopRefused
	case reason != "" || a.final.Status == responses.ResponseStatusIncomplete:
		r.Stop = StopLength
	}
	return r
}

func vendorText(item responses.ResponseOutputItemUnion) (blocks []Block, refused bool) {
	var text strings.Builder
	for _, part := range item.Content {
		text.WriteString(part.Text)
		text.WriteString(part.Refusal)
		refused = refused || part.Type == "refusal"
	}
	if text.Len() == 0 {
		return nil, refused
	}
	if phase, err := json.Marshal(string(item.Phase)); item.Phase != "" && err == nil {
		blocks = append(blocks, Block{Opaque: phase, OpaqueKind: opaquePhase})
	}
	return append(blocks, Block{Text: text.String()}), refused
}

func vendorResponsesUsage(r responses.Response) agentruntime.Usage {
	return agentruntime.Usage{
		Model:             r.Model,
		InputTokens:       count(r.Usage.InputTokens),
		CachedInputTokens: count(r.Usage.InputTokensDetails.CachedTokens),
		CacheWriteTokens:  count(r.Usage.InputTokensDetails.CacheWriteTokens),
		OutputTokens:      count(r.Usage.OutputTokens),
		ReasoningTokens:   count(r.Usage.OutputTokensDetails.ReasoningTokens),
	}
}
