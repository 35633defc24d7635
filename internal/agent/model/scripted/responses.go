package scripted

import (
	"encoding/json"
)

// responsesAPI is OpenAI's Responses.
var responsesAPI = api{
	name: "responses", prefix: "call", stream: "text/event-stream",
	read: readResponses, write: writeResponses, fail: failOpenAI, start: startResponses,
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Tools      []responsesTool `json:"tools"`
}

func (t responsesTool) tools(namespace string) []tool {
	switch t.Type {
	case "function":
		return []tool{{name: t.Name, namespace: namespace, schema: parseSchema(t.Parameters)}}
	case "custom":
		return []tool{{name: t.Name, namespace: namespace, freeform: true}}
	case "namespace":
		var all []tool
		for _, inner := range t.Tools {
			inner.Tools = nil // they do not nest further
			all = append(all, inner.tools(t.Name)...)
		}
		return all
	}
	return nil
}

func readResponses(body []byte, a *ask) error {
	var req struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	a.model, a.stream = req.Model, req.Stream
	a.note(req.Instructions)
	for _, t := range req.Tools {
		a.tools = append(a.tools, t.tools("")...)
	}
	var whole string
	if json.Unmarshal(req.Input, &whole) == nil {
		a.user(whole)
		return nil
	}
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
		CallID  string          `json:"call_id"`
		Output  json.RawMessage `json:"output"`
		Tools   []responsesTool `json:"tools"`
	}
	if err := json.Unmarshal(req.Input, &items); err != nil {
		return err
	}
	for _, item := range items {
		switch item.Type {
		case "", "message":
			switch item.Role {
			case "user":
				a.user(text(item.Content))
			case "assistant":
				a.assistant()
			default:
				a.note(text(item.Content))
			}
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			a.result(item.CallID, text(item.Output))
		case "function_call", "custom_tool_call", "local_shell_call":
			a.assistant()
		case "additional_tools":
			for _, t := range item.Tools {
				a.tools = append(a.tools, t.tools("")...)
			}
		}
	}
	return nil
}

// outputItems are the items of an answer, in order.
func outputItems(a *ask, ans answer) []object {
	var items []object
	if ans.thinking != "" {
		items = append(items, object{
			"type": "reasoning", "id": a.id("rs"), "summary": []object{{"type": "summary_text", "text": ans.thinking}},
			"encrypted_content": signature(ans.thinking),
		})
	}
	if ans.text != "" || len(ans.calls) == 0 {
		content := object{"type": "output_text", "text": ans.text, "annotations": []any{}}
		if ans.stop == stopRefused {
			content = object{"type": "refusal", "refusal": ans.text}
		}
		items = append(items, object{
			"type": "message", "id": a.id("msg"), "role": "assistant", "status": "completed", "content": []object{content},
		})
	}
	for _, c := range ans.calls {
		item := object{"type": "function_call", "id": "fc_" + c.id, "call_id": c.id, "name": c.name, "arguments": c.arguments, "status": "completed"}
		if c.freeform {
			item = object{"type": "custom_tool_call", "id": "ctc_" + c.id, "call_id": c.id, "name": c.name, "input": c.arguments, "status": "completed"}
		}
		if c.namespace != "" {
			item["namespace"] = c.namespace
		}
		items = append(items, item)
	}
	return items
}

func responseObject(a *ask, ans answer, status string, items []object) object {
	r := object{
		"id": a.id("resp"), "object": "response", "created_at": created, "status": status, "model": a.model, "output": items,
		"error": nil, "incomplete_details": nil, "parallel_tool_calls": true, "usage": nil,
	}
	if status != "in_progress" {
		u := ans.usage
		r["usage"] = object{
			"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
			"input_tokens_details":  object{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning},
		}
	}
	if status == "incomplete" {
		r["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	return r
}

func writeResponses(w *writer, a *ask, ans answer) {
	items := outputItems(a, ans)
	status := "completed"
	if ans.stop == stopLength {
		status = "incomplete"
	}
	if !a.stream {
		respond(w.rw, 200, responseObject(a, ans, status, items))
		return
	}
	w.responseEvent("response.created", object{"response": responseObject(a, ans, "in_progress", []object{})})
	w.responseEvent("response.in_progress", object{"response": responseObject(a, ans, "in_progress", []object{})})
	for i, item := range items {
		w.outputItem(i, item)
	}
	w.responseEvent("response."+status, object{"response": responseObject(a, ans, status, items)})
}

func (w *writer) responseEvent(kind string, data object) {
	data["type"] = kind
	data["sequence_number"] = w.seq
	w.seq++
	w.event(kind, data)
}

// outputItem streams one item: added, its deltas, done.
func (w *writer) outputItem(i int, item object) {
	added := object{}
	for name, value := range item {
		added[name] = value
	}
	id := item["id"]
	switch item["type"] {
	case "reasoning":
		added["summary"] = []any{}
		delete(added, "encrypted_content")
	case "message":
		added["content"], added["status"] = []any{}, "in_progress"
	case "function_call":
		added["arguments"], added["status"] = "", "in_progress"
	case "custom_tool_call":
		added["input"], added["status"] = "", "in_progress"
	}
	w.responseEvent("response.output_item.added", object{"output_index": i, "item": added})
	switch item["type"] {
	case "reasoning":
		for _, part := range item["summary"].([]object) { //nolint:forcetypeassert // made above
			w.deltas("response.reasoning_summary_text.delta", part["text"], object{"item_id": id, "output_index": i, "summary_index": 0})
		}
	case "message":
		for _, part := range item["content"].([]object) { //nolint:forcetypeassert // made above
			at := object{"item_id": id, "output_index": i, "content_index": 0}
			if part["type"] == "refusal" {
				w.deltas("response.refusal.delta", part["refusal"], at)
				continue
			}
			w.responseEvent("response.content_part.added", with(at, "part", object{"type": "output_text", "text": "", "annotations": []any{}}))
			w.deltas("response.output_text.delta", part["text"], at)
			w.responseEvent("response.output_text.done", with(at, "text", part["text"]))
			w.responseEvent("response.content_part.done", with(at, "part", part))
		}
	case "function_call":
		at := object{"item_id": id, "output_index": i}
		w.deltas("response.function_call_arguments.delta", item["arguments"], at)
		w.responseEvent("response.function_call_arguments.done", with(at, "arguments", item["arguments"]))
	case "custom_tool_call":
		at := object{"item_id": id, "output_index": i}
		w.deltas("response.custom_tool_call_input.delta", item["input"], at)
		w.responseEvent("response.custom_tool_call_input.done", with(at, "input", item["input"]))
	}
	w.responseEvent("response.output_item.done", object{"output_index": i, "item": item})
}

func (w *writer) deltas(kind string, whole any, at object) {
	text, _ := whole.(string)
	for _, piece := range pieces(text) {
		w.responseEvent(kind, with(at, "delta", piece))
	}
}

func with(base object, name string, value any) object {
	out := object{name: value}
	for k, v := range base {
		out[k] = v
	}
	return out
}

func startResponses(w *writer, a *ask, ans answer) {
	w.responseEvent("response.created", object{"response": responseObject(a, ans, "in_progress", []object{})})
	item := outputItems(a, ans)[0]
	w.responseEvent("response.output_item.added", object{"output_index": 0, "item": with(item, "content", []any{})})
	w.deltas("response.output_text.delta", ans.text, object{"item_id": item["id"], "output_index": 0, "content_index": 0})
}

// failOpenAI is the body of an error of OpenAI's.
func failOpenAI(status int, code, message string) any {
	kind := "invalid_request_error"
	switch {
	case status == 401:
		code = orDefault(code, "invalid_api_key")
	case status == 429:
		kind, code = "rate_limit_error", orDefault(code, "rate_limit_exceeded")
	case status >= 500:
		kind, code = "server_error", orDefault(code, "server_error")
	}
	if code == tooLong {
		code = "context_length_exceeded"
	}
	e := object{"message": message, "type": kind, "param": nil, "code": code}
	if code == "" {
		e["code"] = nil
	}
	return object{"error": e}
}
