package scripted

import (
	"encoding/json"
)

// messagesAPI is Anthropic's Messages.
var messagesAPI = api{
	name: "messages", prefix: "toolu", stream: "text/event-stream",
	read: readMessages, write: writeMessages, fail: failAnthropic, start: startMessages,
}

func readMessages(body []byte, a *ask) error {
	var req struct {
		Model    string          `json:"model"`
		Stream   bool            `json:"stream"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	a.model, a.stream = req.Model, req.Stream
	a.note(text(req.System))
	for _, t := range req.Tools {
		a.tools = append(a.tools, tool{name: t.Name, schema: parseSchema(t.Schema)})
	}
	for _, m := range req.Messages {
		if m.Role == "assistant" {
			a.assistant()
			continue
		}
		var whole string
		if json.Unmarshal(m.Content, &whole) == nil {
			a.user(whole)
			continue
		}
		var blocks []struct {
			Type      string          `json:"type"`
			Text      string          `json:"text"`
			ToolUseID string          `json:"tool_use_id"`
			Content   json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return err
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_result":
				a.result(b.ToolUseID, text(b.Content))
			case "text":
				a.user(b.Text)
			}
		}
	}
	return nil
}

var messagesStops = map[string]string{stopEnd: "end_turn", stopTools: "tool_use", stopLength: "max_tokens", stopRefused: "refusal"}

func messagesUsage(u Usage, output int64) object {
	return object{
		"input_tokens": u.Input - u.Cached - u.CacheWrite, "cache_read_input_tokens": u.Cached,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": output,
	}
}

// contentBlocks are the blocks of an answer.
func contentBlocks(ans answer) []object {
	blocks := []object{}
	if ans.thinking != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": ans.thinking, "signature": signature(ans.thinking)})
	}
	if ans.text != "" {
		blocks = append(blocks, object{"type": "text", "text": ans.text})
	}
	for _, c := range ans.calls {
		blocks = append(blocks, object{"type": "tool_use", "id": c.id, "name": c.name, "input": rawOr(c.arguments, object{})})
	}
	return blocks
}

func messageObject(a *ask, ans answer, content []object, stop any, output int64) object {
	return object{
		"id": a.id("msg"), "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": messagesUsage(ans.usage, output),
	}
}

func writeMessages(w *writer, a *ask, ans answer) {
	if !a.stream {
		respond(w.rw, 200, messageObject(a, ans, contentBlocks(ans), messagesStops[ans.stop], ans.usage.Output))
		return
	}
	w.messageEvent("message_start", object{"message": messageObject(a, ans, []object{}, nil, 1)})
	index := 0
	if ans.thinking != "" {
		w.block(index, object{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", ans.thinking,
			object{"type": "signature_delta", "signature": signature(ans.thinking)})
		index++
	}
	if ans.text != "" {
		w.block(index, object{"type": "text", "text": ""}, "text_delta", "text", ans.text, nil)
		index++
	}
	for _, c := range ans.calls {
		w.block(index, object{"type": "tool_use", "id": c.id, "name": c.name, "input": object{}},
			"input_json_delta", "partial_json", c.arguments, nil)
		index++
	}
	w.messageEvent("message_delta", object{
		"delta": object{"stop_reason": messagesStops[ans.stop], "stop_sequence": nil},
		"usage": messagesUsage(ans.usage, ans.usage.Output),
	})
	w.messageEvent("message_stop", object{})
}

func (w *writer) messageEvent(kind string, data object) {
	data["type"] = kind
	w.event(kind, data)
}

// block streams one block: start, its deltas and a last one if there is one, stop.
func (w *writer) block(index int, start object, kind, member, text string, last object) {
	w.messageEvent("content_block_start", object{"index": index, "content_block": start})
	for _, piece := range pieces(text) {
		w.messageEvent("content_block_delta", object{"index": index, "delta": object{"type": kind, member: piece}})
	}
	if last != nil {
		w.messageEvent("content_block_delta", object{"index": index, "delta": last})
	}
	w.messageEvent("content_block_stop", object{"index": index})
}

func startMessages(w *writer, a *ask, ans answer) {
	w.messageEvent("message_start", object{"message": messageObject(a, ans, []object{}, nil, 1)})
	w.messageEvent("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
	w.messageEvent("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": ans.text}})
}

// failAnthropic is the body of an Anthropic error. It has no code: only the message says that a conversation is too long.
func failAnthropic(status int, code, message string) any {
	kind := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 504: "timeout_error", 529: "overloaded_error",
	}[status]
	switch {
	case kind != "":
	case status >= 500:
		kind = "api_error"
	default:
		kind = "invalid_request_error"
	}
	if code != "" && code != tooLong {
		kind = code
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_scripted"}
}
