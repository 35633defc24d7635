package model

import "encoding/json"

// NewOllamaGenerate makes a client of the Ollama interface that completes a prompt. It has no conversation and no tools:
// the messages are put one after the other, and a request with tools is refused.
func NewOllamaGenerate(o Options) (Client, error) {
	o, err := o.resolve("ollama", OllamaURL)
	if err != nil {
		return nil, err
	}
	return &ollamaClient{o, "api/generate", generateBody}, nil
}

func generateBody(o Options, req Request) ([]byte, error) {
	if len(req.Tools) > 0 {
		return nil, &Error{Kind: KindBadRequest, Message: "the interface takes no tools"}
	}
	out := struct {
		Model    string         `json:"model"`
		System   string         `json:"system,omitempty"`
		Prompt   string         `json:"prompt"`
		Stream   bool           `json:"stream"`
		Truncate bool           `json:"truncate"`
		Shift    bool           `json:"shift"`
		Options  map[string]int `json:"options,omitempty"`
	}{Model: req.Model, System: req.System, Stream: true, Options: ollamaOptions(o, req)}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			if out.Prompt != "" && b.Text != "" {
				out.Prompt += "\n\n"
			}
			out.Prompt += b.Text
		}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, &Error{Kind: KindBadRequest, Message: "the prompt cannot be written as JSON: " + err.Error()}
	}
	return body, nil
}
