package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

// A plan of many items, from the text of the items to a plan that could be written, and the reconciliation of as many
// records, against decoding the same text once. Planning must not grow faster than its items: a tenth of them is
// measured beside all.
func TestBenchFanoutPlan(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	for _, n := range []int{1_000, 10_000} {
		for _, shape := range []struct {
			name   string
			groups int
		}{{"one_each", n}, {"hundred_groups", 100}} {
			text := fanoutItems(n, shape.groups)
			c, _, err := homeboy.ReadFanoutConfig([]byte(`{"orchestrator":{"run_id":"r"},"group_key_path":"dir","task_request_template":{
				"instructions":"mend {{group.key}} of {{orchestrator.run_id}}","inputs":{"files":"{{group.items}}","first":"{{group.items.0.meta.owner}}"}}}`))
			must(t, err)
			var plan homeboy.FanoutPlan
			var planned, reconciled, floor []float64
			for range 9 {
				floor = append(floor, seconds(func() { var v []any; must(t, json.Unmarshal(text, &v)) }))
				planned = append(planned, seconds(func() {
					var items []homeboy.Value
					must(t, json.Unmarshal(text, &items))
					plan, err = fanout.Plan(c, items)
					must(t, err)
				}))
				records := make([]homeboy.FanoutRecord, len(plan.TaskRequests))
				for i, task := range plan.TaskRequests {
					records[i] = fanout.Record(task, homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: task.Name(), Status: homeboy.Succeeded})
				}
				reconciled = append(reconciled, seconds(func() {
					if r := fanout.Reconcile(plan, records, fanout.Options{}); r.Status != homeboy.FanoutCompleted {
						t.Fatal(r.Status)
					}
				}))
			}
			name := fmt.Sprintf("%s.%d", shape.name, n)
			line(t, "fanout.plan."+name, median(planned)*1e3, median(floor)*1e3, "ms", "<=5")
			line(t, "fanout.reconcile."+name, median(reconciled)*1e3, median(floor)*1e3, "ms", "<=5")
		}
	}
}

// fanoutItems writes items as a check would, in so many groups.
func fanoutItems(n, groups int) []byte {
	var out bytes.Buffer
	out.WriteByte('[')
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"id":"item-%d","dir":"dir/%d","file":"dir/%d/file_%d.go","line":%d,"message":"the licence is missing","tags":["a","b"],"meta":{"owner":"team-%d","score":%d.5}}`,
			i, i%groups, i%groups, i, i, i%7, i)
	}
	out.WriteByte(']')
	return out.Bytes()
}
