package model

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

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
	params, err := chatParams(req, c.options.BaseURL)
	if err != nil {
		return Response{}, err
	}
	call := c.options.begin(ctx, "text/event-stream")
	defer call.end()
	service := openai.NewChatCompletionService(openAIOptions(c.options, call)...)
	stream := service.NewStreaming(call.ctx, params)
	defer func() { _ = stream.Close() }()

	a := chatAnswer{on: on}
	for stream.Next() {
		a.add(stream.Current())
	}
	if err := call.outcome(streamError(call, stream.Err()), a.stop != ""); err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

func chatParams(req Request, baseURL string) (openai.ChatCompletionNewParams, error) {
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
		params.Messages = append(params.Messages, chatMessages(m)...)
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

// chatMessages makes the messages of one: results of tools are messages of their own there.
func chatMessages(m Message) []openai.ChatCompletionMessageParamUnion {
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

func (a *chatAnswer) add(chunk openai.ChatCompletionChunk) {
	a.id, a.model = or2(chunk.ID, a.id), or2(chunk.Model, a.model)
	if chunk.JSON.Usage.Valid() {
		a.usage = chatUsage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		a.text.WriteString(choice.Delta.Content)
		a.text.WriteString(choice.Delta.Refusal)
		a.refuse = a.refuse || choice.Delta.Refusal != ""
		deliver(a.on, Delta{Text: choice.Delta.Content + choice.Delta.Refusal})
		deliver(a.on, Delta{Thinking: chatThinking(choice.Delta)})
		for _, part := range choice.Delta.ToolCalls {
			a.addCall(part)
		}
		a.stop = or2(choice.FinishReason, a.stop)
	}
}

// chatThinking reads the members under which compatible services stream reasoning.
func chatThinking(d openai.ChatCompletionChunkChoiceDelta) string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if field, ok := d.JSON.ExtraFields[name]; ok && json.Unmarshal([]byte(field.Raw()), &text) == nil {
			return text
		}
	}
	return ""
}

func (a *chatAnswer) addCall(part openai.ChatCompletionChunkChoiceDeltaToolCall) {
	if part.Index < 0 || part.Index > maxCallIndex {
		return
	}
	i := int(part.Index)
	// Some services give every call the index 0: another id is another call.
	if i < len(a.calls) && part.ID != "" && a.calls[i].id != "" && a.calls[i].id != part.ID {
		i = slices.IndexFunc(a.calls, func(c chatCall) bool { return c.id == part.ID })
		if i < 0 {
			i = len(a.calls)
		}
	}
	for len(a.calls) <= i {
		a.calls = append(a.calls, chatCall{})
	}
	c := &a.calls[i]
	c.id = or2(part.ID, c.id)
	if c.name == "" && part.Function.Name != "" {
		c.name = part.Function.Name
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

func chatUsage(u openai.CompletionUsage) agentruntime.Usage {
	return agentruntime.Usage{
		InputTokens:       count(u.PromptTokens),
		CachedInputTokens: count(u.PromptTokensDetails.CachedTokens),
		CacheWriteTokens:  count(u.PromptTokensDetails.CacheWriteTokens),
		OutputTokens:      count(u.CompletionTokens),
		ReasoningTokens:   count(u.CompletionTokensDetails.ReasoningTokens),
	}
}
