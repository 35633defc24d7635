package model

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
)

const (
	// opaqueOpenAI marks output items of OpenAI's own, such as encrypted reasoning.
	opaqueOpenAI = "openai"
	// opaquePhase marks the phase of the text that follows it, which the models want to get back.
	opaquePhase = "openai_phase"
)

type openAIResponses struct{ options Options }

// NewOpenAIResponses makes a client of the Responses API. Nothing is kept by the service (store is false): the
// conversation goes over whole each time, with encrypted reasoning. Nothing is taken from OPENAI_* variables.
func NewOpenAIResponses(o Options) (Client, error) {
	o, err := o.resolve("openai", OpenAIURL)
	if err != nil {
		return nil, err
	}
	return &openAIResponses{options: o}, nil
}

func (c *openAIResponses) Stream(ctx context.Context, req Request, on func(Delta)) (Response, error) {
	body, err := responsesBody(req)
	if err != nil {
		return Response{}, err
	}
	a := responsesAnswer{on: on}
	err = c.options.ask(ctx, question{eventStream, "responses", c.options.bearer(acceptJSON), body, func(call *call, in io.Reader) (bool, error) {
		a.call = call
		err := eachOpenAI(call, in, func(data []byte) (bool, error) {
			err := a.add(data)
			return a.complete, err
		})
		return a.complete, err
	}})
	if err != nil {
		return Response{}, err
	}
	return a.response(), nil
}

type responsesRequest struct {
	Model           string          `json:"model"`
	Store           bool            `json:"store"`
	Include         []string        `json:"include"`
	Instructions    string          `json:"instructions,omitempty"`
	MaxOutputTokens int             `json:"max_output_tokens,omitempty"`
	Input           []any           `json:"input,omitempty"`
	Tools           []responsesTool `json:"tools,omitempty"`
	Stream          bool            `json:"stream"`
}

type responsesMessage struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Phase   string `json:"phase,omitempty"`
	Content string `json:"content"`
}

type responsesCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type responsesResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Parameters  map[string]any `json:"parameters"`
	Strict      bool           `json:"strict"` // never: strict schemas have no optional members
}

func responsesBody(req Request) ([]byte, error) {
	out := responsesRequest{
		Model: req.Model, Include: []string{"reasoning.encrypted_content"}, Stream: true,
		Instructions: req.System, MaxOutputTokens: max(req.MaxOutput, 0),
	}
	for _, m := range req.Messages {
		out.Input = append(out.Input, responsesItems(m)...)
	}
	for _, t := range req.Tools {
		schema, err := t.schema()
		if err != nil {
			return nil, err
		}
		out.Tools = append(out.Tools, responsesTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema})
	}
	return encode(out)
}

func responsesItems(m Message) []any {
	var items []any
	phase := ""
	for _, b := range m.Blocks {
		switch {
		case b.Text != "":
			items, phase = append(items, responsesMessage{"message", m.Role, phase, b.Text}), ""
		case b.Call != nil:
			items = append(items, responsesCall{"function_call", b.Call.ID, b.Call.Name, string(b.Call.Input)})
		case b.Result != nil:
			items = append(items, responsesResult{"function_call_output", b.Result.CallID, b.Result.Output})
		case b.OpaqueKind == opaqueOpenAI && len(b.Opaque) > 0:
			items = append(items, b.Opaque)
		case b.OpaqueKind == opaquePhase:
			if json.Unmarshal(b.Opaque, &phase) != nil {
				phase = ""
			}
		}
	}
	return items
}

// eachOpenAI gives the data of each event to add. An event with an error counts as an error, whatever else it holds. An error of
// null is none, although OpenAI's own package takes it for one.
func eachOpenAI(call *call, body io.Reader, add func(data []byte) (enough bool, err error)) error {
	return eachEvent(body, func(e event) (bool, error) {
		if !e.hasData {
			return false, nil
		}
		if bytes.HasPrefix(e.data, []byte("[DONE]")) {
			return true, nil
		}
		if bytes.Contains(e.data, []byte(`"error"`)) { // rare, and not worth reading everything twice
			var failed struct {
				Error json.RawMessage `json:"error"`
			}
			if err := decode(e.data, &failed); err == nil && len(failed.Error) > 0 && string(failed.Error) != "null" {
				return false, call.serviceError(parseFault(e.data))
			}
		}
		if data := bytes.TrimSpace(e.data); len(data) > 0 && !isObject(data) && string(data) != "null" {
			return false, fmt.Errorf("an event of the answer is not an object: %.40q", data)
		}
		return add(e.data)
	})
}

// responsesEvent is one piece of an answer, of any type.
type responsesEvent struct {
	Type     looseText       `json:"type"`
	Delta    looseText       `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response responsesFinal  `json:"response"`
	Code     looseText       `json:"code"`
	Message  looseText       `json:"message"`
}

type responsesFinal struct {
	ID     looseText         `json:"id"`
	Model  looseText         `json:"model"`
	Status looseText         `json:"status"`
	Output []json.RawMessage `json:"output"`
	Error  struct {
		Code    looseText `json:"code"`
		Message looseText `json:"message"`
	} `json:"error"`
	IncompleteDetails struct {
		Reason looseText `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		Input        looseInt `json:"input_tokens"`
		Output       looseInt `json:"output_tokens"`
		InputDetails struct {
			Cached     looseInt `json:"cached_tokens"`
			CacheWrite looseInt `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning looseInt `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

type responsesItem struct {
	Type      looseText       `json:"type"`
	CallID    looseText       `json:"call_id"`
	Name      looseText       `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Phase     looseText       `json:"phase"`
	Content   []struct {
		Type    looseText `json:"type"`
		Text    looseText `json:"text"`
		Refusal looseText `json:"refusal"`
	} `json:"content"`
}

// responsesAnswer puts an answer together from its items as they are done: some compatible services leave them out of the
// last event.
type responsesAnswer struct {
	call     *call
	on       func(Delta)
	items    []json.RawMessage
	final    responsesFinal
	complete bool
}

func (a *responsesAnswer) add(data []byte) error {
	var piece responsesEvent
	if err := decode(data, &piece); err != nil {
		return fmt.Errorf("an event of the answer: %w", err)
	}
	switch piece.Type {
	case "response.output_text.delta", "response.refusal.delta":
		deliver(a.on, Delta{Text: string(piece.Delta)})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		deliver(a.on, Delta{Thinking: string(piece.Delta)})
	case "response.output_item.added":
		var item responsesItem
		if decode(piece.Item, &item) == nil && item.Type == "function_call" {
			deliver(a.on, Delta{Call: &Call{ID: string(item.CallID), Name: string(item.Name)}})
		}
	case "response.output_item.done":
		a.items = append(a.items, piece.Item)
	case "response.completed", "response.incomplete":
		a.final, a.complete = piece.Response, true
	case "response.failed":
		return a.call.serviceError(fault{Code: string(piece.Response.Error.Code), Message: string(piece.Response.Error.Message)})
	case "error":
		return a.call.serviceError(fault{Code: string(piece.Code), Message: string(piece.Message)})
	}
	return nil
}

func (a *responsesAnswer) response() Response {
	r := Response{Served: string(a.final.Model), ID: string(a.final.ID), Stop: StopEnd, Usage: a.final.usage()}
	items := a.items
	if len(items) == 0 {
		items = a.final.Output
	}
	refused := false
	for _, raw := range items {
		var item responsesItem
		if !isObject(raw) || decode(raw, &item) != nil {
			continue
		}
		switch item.Type {
		case "message":
			blocks, refusal := item.text()
			r.Blocks = append(r.Blocks, blocks...)
			refused = refused || refusal
		case "function_call":
			var arguments string
			if json.Unmarshal(item.Arguments, &arguments) != nil {
				arguments = ""
			}
			r.Blocks = append(r.Blocks, Block{Call: &Call{
				ID: string(item.CallID), Name: string(item.Name), Input: wrapInput(arguments),
			}})
			r.Stop = StopTools
		default:
			r.Blocks = append(r.Blocks, Block{Opaque: raw, OpaqueKind: opaqueOpenAI})
		}
	}
	switch reason := a.final.IncompleteDetails.Reason; {
	case reason == "content_filter", refused && r.Stop == StopEnd:
		r.Stop = StopRefused
	case reason != "" || a.final.Status == "incomplete":
		r.Stop = StopLength
	}
	return r
}

// text is what a message says, after its phase if it has one.
func (i *responsesItem) text() (blocks []Block, refused bool) {
	var text strings.Builder
	for _, part := range i.Content {
		text.WriteString(string(part.Text))
		text.WriteString(string(part.Refusal))
		refused = refused || part.Type == "refusal"
	}
	if text.Len() == 0 {
		return nil, refused
	}
	if phase, err := json.Marshal(string(i.Phase)); i.Phase != "" && err == nil {
		blocks = append(blocks, Block{Opaque: phase, OpaqueKind: opaquePhase})
	}
	return append(blocks, Block{Text: text.String()}), refused
}

func (r *responsesFinal) usage() agentruntime.Usage {
	u := &r.Usage
	return agentruntime.Usage{
		Model:             string(r.Model),
		InputTokens:       count(int64(u.Input)),
		CachedInputTokens: count(int64(u.InputDetails.Cached)),
		CacheWriteTokens:  count(int64(u.InputDetails.CacheWrite)),
		OutputTokens:      count(int64(u.Output)),
		ReasoningTokens:   count(int64(u.OutputDetails.Reasoning)),
	}
}
