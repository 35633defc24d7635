package scripted

import (
	"encoding/json"
	"fmt"
)

// chatAPI is OpenAI's Chat Completions, as many services offer it.
var chatAPI = api{
	name: "chat", prefix: "call", stream: "text/event-stream",
	read: readChat, write: writeChat, fail: failOpenAI, start: startChat,
}

type chatTool struct {
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
}

// converse notes messages as Chat Completions and Ollama have them.
func (a *ask) converse(messages []chatMessage, tools []chatTool) {
	for _, t := range tools {
		a.tools = append(a.tools, tool{name: t.Function.Name, schema: parseSchema(t.Function.Parameters)})
	}
	for _, m := range messages {
		switch m.Role {
		case "user":
			a.user(text(m.Content))
		case "assistant":
			a.assistant()
		case "tool":
			a.result(m.ToolCallID, text(m.Content))
		default:
			a.note(text(m.Content))
		}
	}
}

func readChat(body []byte, a *ask) error {
	var req struct {
		Model    string        `json:"model"`
		Stream   bool          `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Tools    []chatTool    `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	a.model, a.stream = req.Model, req.Stream
	a.converse(req.Messages, req.Tools)
	return nil
}

var chatStops = map[string]string{stopEnd: "stop", stopTools: "tool_calls", stopLength: "length", stopRefused: "content_filter"}

func chatUsage(u Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}

func chatCall(i int, c made) object {
	return object{"index": i, "id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.arguments}}
}

func writeChat(w *writer, a *ask, ans answer) {
	if !a.stream {
		message := object{"role": "assistant", "content": ans.text}
		var calls []object
		for i, c := range ans.calls {
			calls = append(calls, chatCall(i, c))
		}
		if calls != nil {
			message["tool_calls"] = calls
		}
		if ans.thinking != "" {
			message["reasoning_content"] = ans.thinking
		}
		respond(w.rw, 200, object{
			"id": a.id("chatcmpl"), "object": "chat.completion", "created": created, "model": a.model, "usage": chatUsage(ans.usage),
			"choices": []object{{"index": 0, "message": message, "finish_reason": chatStops[ans.stop]}},
		})
		return
	}
	w.chunk(a, object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(ans.thinking) {
		w.chunk(a, object{"reasoning_content": piece}, nil)
	}
	for _, piece := range pieces(ans.text) {
		w.chunk(a, object{"content": piece}, nil)
	}
	for i, c := range ans.calls {
		begin := c
		begin.arguments = ""
		w.chunk(a, object{"tool_calls": []object{chatCall(i, begin)}}, nil)
		for _, piece := range pieces(c.arguments) {
			w.chunk(a, object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	w.chunk(a, object{}, chatStops[ans.stop])
	w.event("", object{
		"id": a.id("chatcmpl"), "object": "chat.completion.chunk", "created": created, "model": a.model,
		"choices": []any{}, "usage": chatUsage(ans.usage),
	})
	_, _ = fmt.Fprint(w.rw, "data: [DONE]\n\n")
	w.flush()
}

func (w *writer) chunk(a *ask, delta object, stop any) {
	w.event("", object{
		"id": a.id("chatcmpl"), "object": "chat.completion.chunk", "created": created, "model": a.model,
		"choices": []object{{"index": 0, "delta": delta, "finish_reason": stop}},
	})
}

func startChat(w *writer, a *ask, ans answer) {
	w.chunk(a, object{"role": "assistant", "content": ans.text}, nil)
}
