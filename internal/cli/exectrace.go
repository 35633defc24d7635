package cli

// The binary becomes a tracer by being started as one: see package exectrace.
import _ "github.com/deedrun/deed/internal/exectrace"
