package model

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/deedrun/deed/contract/agentruntime"
)

// A vendorChat asks Chat Completions by OpenAI's own package.
type vendorChat struct{ options Options }

// NewVendorChat is NewOpenAIChat by OpenAI's own package.
func NewVendorChat(o Options) (Client, error) {
	o, err := o.resolve("openai-compatible service", OpenAIURL)
	if err != nil {
		return nil, err
	}
	return &vendorChat{options: o}, nil
}

func (c *vendorChat) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	params, err := vendorChatParams(req, c.options.BaseURL)
	if err != nil {
		return Response{}, err
	}
	call := c.options.begin(ctx, "text/event-stream")
	defer call.end()
	service := openai.NewChatCompletionService(vendorOptions(c.options, call)...)
	stream := service.NewStreaming(call.ctx, params)
	defer func() { _ = stream.Close() }()

	a := vendorChatAnswer{chatAnswer{on: on}}
	for stream.Next() {
		a.add(stream.Current())
	}
	if err := call.outcome(streamError(call, stream.Err()), a.stop != ""); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

func vendorChatParams(req Request, baseURL string) (openai.ChatCompletionNewParams, error) {
	params := openai.ChatCompletionNewParams{
		Model:         req.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	if req.MaxOutput > 0 {
		// The newer name is refused or ignored by many compatible services, and the older one by OpenAI's own models.
		if u, err := url.Parse(baseURL); err == nil && u.Hostname() == "api.openai.com" {
			params.MaxCompletionTokens = param.NewOpt(int64(req.MaxOutput))
		} else {
			params.MaxTokens = param.NewOpt(int64(req.MaxOutput))
		}
	}
	if req.System != "" {
		params.Messages = append(params.Messages, openai.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		params.Messages = append(params.Messages, vendorChatMessages(m)...)
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return params, err
		}
		params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: param.NewOpt(t.Description), Parameters: schema,
		}))
	}
	return params, nil
}

// vendorChatMessages makes the messages of one: results of tools are messages of their own there.
func vendorChatMessages(m Message) []openai.ChatCompletionMessageParamUnion {
	var (
		out   []openai.ChatCompletionMessageParamUnion
		text  []string
		calls []openai.ChatCompletionMessageToolCallUnionParam
	)
	for _, b := range m.Blocks {
		switch {
		case b.Text != "":
			text = append(text, b.Text)
		case b.Call != nil:
			calls = append(calls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID: b.Call.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
						Name: b.Call.Name, Arguments: string(b.Call.Input),
					},
				},
			})
		case b.Result != nil:
			out = append(out, openai.ToolMessage(b.Result.Output, b.Result.CallID))
		}
	}
	said := strings.Join(text, "\n\n")
	switch {
	case m.Role == RoleAssistant && (said != "" || len(calls) > 0):
		message := openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}
		if said != "" {
			message.Content.OfString = param.NewOpt(said)
		}
		out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &message})
	case m.Role != RoleAssistant && said != "":
		out = append(out, openai.UserMessage(said))
	}
	return out
}

// vendorChatAnswer has the answer that the client of the program would put together, and takes its pieces as OpenAI's
// package reads them.
type vendorChatAnswer struct{ chatAnswer }

func (a *vendorChatAnswer) add(chunk openai.ChatCompletionChunk) {
	a.id, a.model = orText(chunk.ID, a.id), orText(chunk.Model, a.model)
	if chunk.JSON.Usage.Valid() {
		a.usage = vendorChatUsage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.text.WriteString(choice.Delta.Content)
		a.text.WriteString(choice.Delta.Refusal)
		a.refuse = a.refuse || choice.Delta.Refusal != ""
		deliver(a.on, Delta{Text: choice.Delta.Content + choice.Delta.Refusal})
		deliver(a.on, Delta{Thinking: vendorThinking(choice.Delta)})
		for _, part := range choice.Delta.ToolCalls {
			own := chatPart{Index: looseInt(part.Index), ID: looseText(part.ID)}
			own.Function.Name, own.Function.Arguments = looseText(part.Function.Name), looseText(part.Function.Arguments)
			a.addCall(&own)
		}
		a.stop = orText(choice.FinishReason, a.stop)
	}
}

// vendorThinking reads the members under which compatible services stream reasoning.
func vendorThinking(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if field, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(field.Raw()), &text) == nil && text != "" {
			return text
		}
	}
	return ""
}

func vendorChatUsage(u openai.CompletionUsage) agentruntime.Usage {
	return agentruntime.Usage{
		InputTokens:       count(u.PromptTokens),
		CachedInputTokens: count(u.PromptTokensDetails.CachedTokens),
		CacheWriteTokens:  count(u.PromptTokensDetails.CacheWriteTokens),
		OutputTokens:      count(u.CompletionTokens),
		ReasoningTokens:   count(u.CompletionTokensDetails.ReasoningTokens),
	}
}
