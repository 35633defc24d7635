package scripted

import (
	"encoding/json"
)

// ollamaChatAPI and ollamaGenerateAPI are Ollama's own.
var (
	ollamaChatAPI = api{
		name: "ollama", prefix: "call", stream: "application/x-ndjson",
		read: readOllamaChat, write: writeOllamaChat, fail: failOllama, start: startOllamaChat,
	}
	ollamaGenerateAPI = api{
		name: "ollama", prefix: "call", stream: "application/x-ndjson",
		read: readOllamaGenerate, write: writeOllamaGenerate, fail: failOllama, start: startOllamaGenerate,
	}
)

// streamed is true unless the request says otherwise.
func streamed(stream *bool) bool { return stream == nil || *stream }

func readOllamaChat(body []byte, a *ask) error {
	var req struct {
		Model    string        `json:"model"`
		Stream   *bool         `json:"stream"`
		Messages []chatMessage `json:"messages"`
		Tools    []chatTool    `json:"tools"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	a.model, a.stream = req.Model, streamed(req.Stream)
	a.converse(req.Messages, req.Tools)
	return nil
}

func readOllamaGenerate(body []byte, a *ask) error {
	var req struct {
		Model  string `json:"model"`
		Stream *bool  `json:"stream"`
		System string `json:"system"`
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return err
	}
	a.model, a.stream = req.Model, streamed(req.Stream)
	a.note(req.System)
	a.user(req.Prompt)
	return nil
}

const ollamaTime = "2023-11-14T22:13:20Z"

func ollamaPiece(a *ask, members object) object {
	members["model"], members["created_at"] = a.model, ollamaTime
	if _, ok := members["done"]; !ok {
		members["done"] = false
	}
	return members
}

// ollamaEnd are the members of the last piece.
func ollamaEnd(ans answer, members object) object {
	reason := "stop"
	if ans.stop == stopLength {
		reason = "length"
	}
	members["done"], members["done_reason"] = true, reason
	members["total_duration"], members["load_duration"] = 2_000_000, 1_000_000
	members["prompt_eval_count"], members["prompt_eval_duration"] = ans.usage.Input, 500_000
	members["eval_count"], members["eval_duration"] = ans.usage.Output, 500_000
	return members
}

func ollamaCalls(ans answer) []object {
	var calls []object
	for i, c := range ans.calls {
		calls = append(calls, object{"id": c.id, "function": object{
			"index": i, "name": c.name, "arguments": rawOr(c.arguments, c.arguments),
		}})
	}
	return calls
}

func writeOllamaChat(w *writer, a *ask, ans answer) {
	calls := ollamaCalls(ans)
	if !a.stream {
		message := object{"role": "assistant", "content": ans.text}
		if calls != nil {
			message["tool_calls"] = calls
		}
		if ans.thinking != "" {
			message["thinking"] = ans.thinking
		}
		respond(w.rw, 200, ollamaPiece(a, ollamaEnd(ans, object{"message": message})))
		return
	}
	for _, piece := range pieces(ans.thinking) {
		w.line(ollamaPiece(a, object{"message": object{"role": "assistant", "content": "", "thinking": piece}}))
	}
	for _, piece := range pieces(ans.text) {
		w.line(ollamaPiece(a, object{"message": object{"role": "assistant", "content": piece}}))
	}
	for _, c := range calls {
		w.line(ollamaPiece(a, object{"message": object{"role": "assistant", "content": "", "tool_calls": []object{c}}}))
	}
	w.line(ollamaPiece(a, ollamaEnd(ans, object{"message": object{"role": "assistant", "content": ""}})))
}

func startOllamaChat(w *writer, a *ask, ans answer) {
	w.line(ollamaPiece(a, object{"message": object{"role": "assistant", "content": ans.text}}))
}

func writeOllamaGenerate(w *writer, a *ask, ans answer) {
	if !a.stream {
		respond(w.rw, 200, ollamaPiece(a, ollamaEnd(ans, object{"response": ans.text, "context": []int{1, 2, 3}})))
		return
	}
	for _, piece := range pieces(ans.text) {
		w.line(ollamaPiece(a, object{"response": piece}))
	}
	w.line(ollamaPiece(a, ollamaEnd(ans, object{"response": "", "context": []int{1, 2, 3}})))
}

func startOllamaGenerate(w *writer, a *ask, ans answer) {
	w.line(ollamaPiece(a, object{"response": ans.text}))
}

// failOllama is the body of an error of Ollama's: words alone.
func failOllama(_ int, code, message string) any {
	if code == tooLong {
		message = "the input length exceeds the context length"
	}
	return object{"error": message}
}
