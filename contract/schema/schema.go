package schema

// IDs returns the ids of all published schemas, sorted.
func IDs() []string { return nil }

// Get returns the JSON Schema of an id.
func Get(id string) ([]byte, bool) { return nil, false }

// Validate checks a document against a published schema and the Go invariants of its record.
func Validate(id string, data []byte) error { return nil }

// TypeScript returns the TypeScript types of all published records.
func TypeScript() ([]byte, error) { return nil, nil }

func translate(err error) error { return err }
