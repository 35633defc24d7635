package schema

import (
	"bytes"
	"encoding/json"

	"github.com/deedrun/deed/contract/fault"
)

// Decode reads one authored record strictly.
func Decode[T any](id string, data []byte) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fault.Faults{{Path: fault.Root, Code: fault.InvalidJSON, Message: err.Error()}}
	}
	if c, ok := any(v).(interface{ Validate() error }); ok {
		return v, c.Validate()
	}
	return v, nil
}
