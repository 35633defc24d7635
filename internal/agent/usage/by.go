package usage

import "github.com/deedrun/deed/internal/store"

// Keys are the things by which usage is added up.
var Keys = map[string]func(store.UsageShare) string{
	"agent":   func(r store.UsageShare) string { return r.AgentID },
	"adapter": func(r store.UsageShare) string { return r.AdapterID },
	"day":     func(r store.UsageShare) string { return r.Day },
	"kind":    func(r store.UsageShare) string { return r.AdapterKind },
	"model":   func(r store.UsageShare) string { return r.Model },
	"profile": func(r store.UsageShare) string { return r.ProfileID },
	"task":    func(r store.UsageShare) string { return r.TaskID },
	"type":    func(r store.UsageShare) string { return r.TaskType },
}
