package settings

import (
	"fmt"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/fault"
)

// Bell is the target of a rule that rings on the terminal of `deed serve`.
const Bell = "bell"

// A NotifyRule has a person told of what happens while deed serves. Only the operator's own file has any.
type NotifyRule struct {
	On      []string `json:"on" jsonschema:"minItems=1"`                                                               // the kinds of deed/notification/v1
	To      string   `json:"to" jsonschema:"minLength=1,maxLength=512,description=a target of outbox.targets or bell"` // a file, a command or a webhook
	PerHour int      `json:"per_hour,omitempty" jsonschema:"minimum=1,maximum=3600"`                                   // absent: 30
}

// validateNotify adds the faults of the rules.
func validateNotify(l *fault.List, rules []NotifyRule) {
	for i, r := range rules {
		at := fmt.Sprintf("$.notify[%d]", i)
		if len(r.On) == 0 {
			l.Add(at+".on", fault.MissingField, "names nothing", "list what to tell of")
		}
		for j, kind := range r.On {
			fault.OneOf(l, fmt.Sprintf("%s.on[%d]", at, j), kind, deed.NotifyKinds...)
		}
		l.Name(at+".to", r.To)
		if r.PerHour < 0 || r.PerHour > 3600 {
			l.Add(at+".per_hour", fault.OutOfRange, fmt.Sprintf("%d is not between 1 and 3600", r.PerHour), "leave it out for 30")
		}
	}
}
