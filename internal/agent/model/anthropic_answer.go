package model

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/agentruntime"
)

// anthropicEvent is one piece of an answer, of any type.
type anthropicEvent struct {
	Type    looseText `json:"type"`
	Index   looseInt  `json:"index"`
	Message struct {
		ID         looseText         `json:"id"`
		Model      looseText         `json:"model"`
		Content    []json.RawMessage `json:"content"`
		StopReason looseText         `json:"stop_reason"`
		Usage      anthropicUsage    `json:"usage"`
	} `json:"message"`
	ContentBlock json.RawMessage `json:"content_block"`
	Delta        struct {
		Type        looseText       `json:"type"`
		Text        looseText       `json:"text"`
		PartialJSON looseText       `json:"partial_json"`
		Thinking    looseText       `json:"thinking"`
		Signature   looseText       `json:"signature"`
		Citation    json.RawMessage `json:"citation"`
		StopReason  looseText       `json:"stop_reason"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicUsage counts tokens of the whole message. A count that is not reported is nil.
type anthropicUsage struct {
	Input         *looseInt `json:"input_tokens"`
	CacheRead     *looseInt `json:"cache_read_input_tokens"`
	CacheCreation *looseInt `json:"cache_creation_input_tokens"`
	Output        looseInt  `json:"output_tokens"`
	OutputDetails *struct {
		Thinking looseInt `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// update takes over a later count. The output is always in it.
func (u *anthropicUsage) update(later anthropicUsage) {
	u.Output = later.Output
	if later.Input != nil {
		u.Input = later.Input
	}
	if later.CacheRead != nil {
		u.CacheRead = later.CacheRead
	}
	if later.CacheCreation != nil {
		u.CacheCreation = later.CacheCreation
	}
	if later.OutputDetails != nil {
		u.OutputDetails = later.OutputDetails
	}
}

// usage adds up the input: Anthropic counts what was read from the cache and written to it separately.
func (u *anthropicUsage) usage(model string) agentruntime.Usage {
	reported := func(n *looseInt) int64 {
		if n == nil {
			return 0
		}
		return count(int64(*n))
	}
	out := agentruntime.Usage{
		Model:             model,
		InputTokens:       reported(u.Input) + reported(u.CacheRead) + reported(u.CacheCreation),
		CachedInputTokens: reported(u.CacheRead),
		CacheWriteTokens:  reported(u.CacheCreation),
		OutputTokens:      count(int64(u.Output)),
	}
	if u.OutputDetails != nil {
		out.ReasoningTokens = reported(&u.OutputDetails.Thinking)
	}
	return out
}

// An anthropicContent is a block of an answer, with what deltas added to it since it began.
type anthropicContent struct {
	raw       json.RawMessage   // as it began
	Type      looseText         `json:"type"`
	ID        looseText         `json:"id"`
	Name      looseText         `json:"name"`
	Text      looseText         `json:"text"`
	Thinking  looseText         `json:"thinking"`
	Signature looseText         `json:"signature"`
	Input     json.RawMessage   `json:"input"`
	Citations []json.RawMessage `json:"citations"`

	text, thinking, signature, input []byte // of the deltas; nil: none came
	cited                            bool   // by a delta
}

// whole is the block's JSON with what the deltas added, as the service would have written it at once.
func (c *anthropicContent) whole() json.RawMessage {
	raw := c.raw
	for _, m := range []struct {
		name  string
		begun looseText
		more  []byte
	}{{"text", c.Text, c.text}, {"thinking", c.Thinking, c.thinking}, {"signature", c.Signature, c.signature}} {
		if len(m.more) > 0 {
			if text, err := encode(string(m.begun) + string(m.more)); err == nil {
				raw = setMember(raw, m.name, text)
			}
		}
	}
	if json.Valid(c.input) {
		raw = setMember(raw, "input", c.input)
	}
	if c.cited {
		if list, err := encode(c.Citations); err == nil {
			raw = setMember(raw, "citations", list)
		}
	}
	return raw
}

// anthropicAnswer puts an answer together.
type anthropicAnswer struct {
	call     *call
	on       func(Delta)
	id       string
	model    string
	stop     string
	content  []anthropicContent
	usage    anthropicUsage
	complete bool
}

func (a *anthropicAnswer) add(e event) error {
	switch {
	case e.name == "error":
		return a.call.serviceError(parseFault(e.data))
	case e.name == "", e.name == "ping", len(e.data) == 0: // all that belongs to an answer has a name
		return nil
	}
	var piece anthropicEvent
	if err := decode(e.data, &piece); err != nil {
		return fmt.Errorf("an event %q of the answer: %w", e.name, err)
	}
	switch piece.Type {
	case "message_start":
		m := piece.Message
		a.id, a.model, a.stop, a.usage, a.content = string(m.ID), string(m.Model), string(m.StopReason), m.Usage, nil
		for _, raw := range m.Content {
			a.begin(raw)
		}
	case "message_delta":
		a.stop = string(piece.Delta.StopReason)
		a.usage.update(piece.Usage)
	case "message_stop":
		a.complete = true
	case "content_block_start":
		if int64(piece.Index) != int64(len(a.content)) {
			return fmt.Errorf("block %d of the answer begins where block %d should", piece.Index, len(a.content))
		}
		if c := a.begin(piece.ContentBlock); c.Type == "tool_use" {
			deliver(a.on, Delta{Call: &Call{ID: string(c.ID), Name: string(c.Name)}})
		}
	case "content_block_delta", "content_block_stop":
		if piece.Index < 0 || int64(piece.Index) >= int64(len(a.content)) {
			return fmt.Errorf("block %d of the answer goes on, and has not begun", piece.Index)
		}
		if piece.Type == "content_block_delta" {
			a.goOn(&a.content[piece.Index], &piece)
		}
	}
	return nil
}

func (a *anthropicAnswer) begin(raw json.RawMessage) *anthropicContent {
	c := anthropicContent{raw: raw}
	if !isObject(raw) || decode(raw, &c) != nil {
		c = anthropicContent{}
	}
	a.content = append(a.content, c)
	return &a.content[len(a.content)-1]
}

// goOn adds a delta to its block, by the delta's type: it may be of a kind that the block is not known for.
func (a *anthropicAnswer) goOn(c *anthropicContent, piece *anthropicEvent) {
	d := &piece.Delta
	switch d.Type {
	case "text_delta":
		c.text = append(c.text, d.Text...)
	case "thinking_delta":
		c.thinking = append(c.thinking, d.Thinking...)
	case "signature_delta":
		c.signature = append(c.signature, d.Signature...)
	case "input_json_delta":
		if c.input == nil {
			c.input = []byte{} // it comes in pieces, even if they are empty
		}
		c.input = append(c.input, d.PartialJSON...)
		return
	case "citations_delta":
		if isObject(d.Citation) {
			c.Citations, c.cited = append(c.Citations, d.Citation), true
		}
	}
	deliver(a.on, Delta{Text: string(d.Text)})
	deliver(a.on, Delta{Thinking: string(d.Thinking)})
}

func (a *anthropicAnswer) response() Response {
	r := Response{Served: a.model, ID: a.id, Stop: anthropicStop(a.stop), Usage: a.usage.usage(a.model)}
	for i := range a.content {
		c := &a.content[i]
		switch c.Type {
		case "text":
			if text := string(c.Text) + string(c.text); text != "" {
				r.Blocks = append(r.Blocks, Block{Text: text})
			}
		case "tool_use":
			input := []byte(c.Input)
			if c.input != nil || string(input) == "null" {
				input = c.input
			}
			r.Blocks = append(r.Blocks, Block{Call: &Call{ID: string(c.ID), Name: string(c.Name), Input: wrapInput(string(input))}})
		default:
			if raw := c.whole(); json.Valid(raw) {
				r.Blocks = append(r.Blocks, Block{Opaque: raw, OpaqueKind: opaqueAnthropic})
			}
		}
	}
	return r
}

func anthropicStop(reason string) string {
	switch reason {
	case "tool_use":
		return StopTools
	case "max_tokens", "model_context_window_exceeded":
		return StopLength
	case "refusal":
		return StopRefused
	}
	return StopEnd
}
