package runtimepkg

import (
	"encoding/json"
	"fmt"

	"github.com/deedrun/deed/contract/homeboy"
)

// A Request is a request that was read once: the record, and the same as a document, because manifests speak of requests by
// paths.
type Request struct {
	homeboy.Request
	Doc      Document
	Warnings []homeboy.Warning // the liberties that the reader took
}

// ReadRequest reads a request, in all the spellings of the wild. What the record does not know stays in the document.
func ReadRequest(data []byte) (Request, error) {
	q, warnings, err := homeboy.ReadRequest(data)
	if err != nil {
		return Request{}, err
	}
	r, err := RequestOf(q)
	r.Warnings = warnings
	return r, err
}

// RequestOf makes the document of a record.
func RequestOf(q homeboy.Request) (Request, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return Request{}, fmt.Errorf("write the request: %w", err)
	}
	doc, err := ReadDocument(text)
	if err != nil {
		return Request{}, err
	}
	executor, _ := doc["executor"].(map[string]any)
	for _, m := range []struct {
		in   map[string]any
		name string
	}{{doc, "task_id"}, {doc, "instructions"}, {executor, "backend"}} {
		if m.in[m.name] == "" { // the writer is strict and writes it; who looks for it should find that it is missing
			delete(m.in, m.name)
		}
	}
	return Request{Request: q, Doc: doc}, nil
}
