package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deedrun/deed/internal/agent/model"
)

// named is an event of Anthropic's or of OpenAI's Responses: its name is also the data's type.
func named(name, members string) string {
	data := `{"type":"` + name + `"}`
	if members != "" {
		data = `{"type":"` + name + `",` + members + `}`
	}
	return "event: " + name + "\ndata: " + data + "\n\n"
}

func plain(data string) string { return "data: " + data + "\n\n" }

const (
	messageStart = `"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":3,"cache_read_input_tokens":5,"cache_creation_input_tokens":7,"output_tokens":1}}`
	messageDelta = `"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42}`
)

// message is a whole answer of Anthropic's around the events of its blocks.
func message(events ...string) string {
	return named("message_start", messageStart) + strings.Join(events, "") + named("message_delta", messageDelta) + named("message_stop", "")
}

// block is one block of it: how it begins, and its deltas.
func block(index, begin string, deltas ...string) string {
	s := named("content_block_start", `"index":`+index+`,"content_block":`+begin)
	for _, d := range deltas {
		s += named("content_block_delta", `"index":`+index+`,"delta":`+d)
	}
	return s + named("content_block_stop", `"index":`+index)
}

func chunk(delta, finish string) string {
	return plain(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt","choices":[{"index":0,"delta":` + delta + `,"logprobs":null,"finish_reason":` + finish + `}]}`)
}

func item(body string) string {
	return named("response.output_item.done", `"output_index":0,"item":`+body)
}

func completed(members string) string {
	return named("response.completed", `"response":{"id":"resp_1","model":"gpt","status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":2},"output_tokens":8,"output_tokens_details":{"reasoning_tokens":6}}`+members+`}`)
}

const said = `{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello.","annotations":[]}]}`

// streams are answers by wire, in the forms that the services document, in those that some of them take, and broken ones.
var streams = map[string]map[string]string{
	"messages": {
		"text": message(block("0", `{"type":"text","text":""}`, `{"type":"text_delta","text":"Hello, "}`, `{"type":"text_delta","text":"Grüße \u00e9\ud83d\ude00 \\ \" \n<&>"}`)),
		"text that began": message(block("0", `{"type":"text","text":"He"}`, `{"type":"text_delta","text":"llo"}`),
			block("1", `{"type":"text","text":""}`)),
		"tool": message(block("0", `{"type":"tool_use","id":"t1","name":"read","input":{}}`,
			`{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"path\":\"a\\u00"}`, `{"type":"input_json_delta","partial_json":"e9\\"}`, `{"type":"input_json_delta","partial_json":"\"b\"}"}`)),
		"tool without input":         message(block("0", `{"type":"tool_use","id":"t1","name":"read","input":{}}`)),
		"tool with input at once":    message(block("0", `{"type":"tool_use","id":"t1","name":"read","input":{"path": "a"}}`)),
		"tool with an input of null": message(block("0", `{"type":"tool_use","id":"t1","name":"read","input":null}`)),
		"tool that is not JSON":      message(block("0", `{"type":"tool_use","id":"t1","name":"read","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"path\": \"a"}`)),
		"two tools in turns": message(
			named("content_block_start", `"index":0,"content_block":{"type":"tool_use","id":"t1","name":"a","input":{}}`),
			named("content_block_start", `"index":1,"content_block":{"type":"tool_use","id":"t2","name":"b","input":{}}`),
			named("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}`),
			named("content_block_delta", `"index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}`),
			named("content_block_delta", `"index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}`)),
		"thinking": message(
			block("0", `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"a <b> "}`, `{"type":"thinking_delta","thinking":"\"c\" \u2028"}`, `{"type":"signature_delta","signature":"c2ln"}`, `{"type":"signature_delta","signature":"bg=="}`),
			block("1", `{"type":"redacted_thinking","data":"eHl6"}`), block("2", `{"type":"text","text":"So."}`)),
		"thinking without its members": message(block("0", `{"type":"thinking"}`, `{"type":"thinking_delta","thinking":"hm"}`, `{"type":"signature_delta","signature":"c2ln"}`)),
		"thinking that began":          message(block("0", `{ "thinking" : "a\u003c" , "signature":"x", "type":"thinking", "new":{"deep":[1.50,"\u003c"]} }`, `{"type":"thinking_delta","thinking":"b"}`)),
		"thinking that no stop ends":   message(named("content_block_start", `"index":0,"content_block":{"type":"thinking","thinking":""}`), named("content_block_delta", `"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`)),
		"server tools": message(
			block("0", `{"type":"server_tool_use","id":"srv","name":"web_search","input":{},"caller":{"type":"direct"}}`, `{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"query\": \"x<"}`, `{"type":"input_json_delta","partial_json":"y\"}"}`),
			block("1", `{"type":"web_search_tool_result","tool_use_id":"srv","content":[{"type":"web_search_result","title":"T","url":"https://x.example/?a=1&b=2","encrypted_content":"ZW5j","page_age":null}]}`),
			block("2", `{"type":"text","text":"","citations":[]}`, `{"type":"citations_delta","citation":{"type":"web_search_result_location","url":"u","title":"T","encrypted_index":"i","cited_text":"c"}}`, `{"type":"text_delta","text":"Said."}`)),
		"server tool that is not JSON": message(block("0", `{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"query\""}`)),
		"citations of a new block": message(block("0", `{"type":"quoted","citations":[{"type":"char_location","cited_text":"a","document_index":0}]}`,
			`{"type":"citations_delta","citation":{"type":"page_location","cited_text":"b","start_page_number":1}}`, `{"type":"text_delta","text":"words"}`)),
		"citations where there were none": message(block("0", `{"type":"quoted","citations":null}`, `{"type":"citations_delta","citation":{"type":"page_location","cited_text":"b"}}`)),
		"a new block":                     message(block("0", `{"type":"new_thing","x":{"y":[1,2]}}`, `{"type":"new_delta","z":1}`), block("1", `{}`)),
		"no block":                        message(named("content_block_start", `"index":0`), named("content_block_start", `"index":1,"content_block":null`)),
		"blocks at the start":             named("message_start", `"message":{"id":"m","model":"c","content":[{"type":"text","text":"pre"},{"type":"thinking","thinking":"p"}],"usage":{}}`) + block("2", `{"type":"text","text":"post"}`) + named("message_stop", ""),
		"new events":                      message(named("new_event", `"x":1`), block("0", `{"type":"text","text":"Hi"}`), "event: other\ndata: {\"type\":\"new\"}\n\n"),
		"pings and comments":              ": hello\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n" + message("event: ping\ndata: no json\n\n", "event: ping\n\n", ":\n\n\n\n", block("0", `{"type":"text","text":"Hi"}`), "id: 7\nretry: 10\n\n"),
		"no names":                        plain(`{"type":"message_start",`+messageStart+`}`) + plain(`{"type":"message_stop"}`),
		"a name and no data":              message("event: content_block_start\n\n", "event: content_block_start\ndata:\n\n", "event: x\ndata\n\n", block("0", `{"type":"text","text":"Hi"}`)),
		"a name that the data is not of":  "event: x\ndata: {\"type\":\"message_start\"," + messageStart + "}\n\nevent: y\ndata: {\"type\":\"message_stop\"}\n\n",
		"two names":                       message("event: ping\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"Hi\"}}\n\n"),
		"no space":                        strings.ReplaceAll(message(block("0", `{"type":"text","text":"Hi"}`)), ": ", ":"),
		"two spaces":                      strings.ReplaceAll(message(block("0", `{"type":"text","text":"Hi"}`)), "data: ", "data:  "),
		"error":                           named("message_start", messageStart) + named("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`),
		"error after the end":             message() + named("error", `"error":{"type":"api_error","message":"late"}`),
		"error without an envelope":       "event: error\ndata: {\"type\":\"rate_limit_error\",\"message\":\"slow\"}\n\n",
		"error that is no JSON":           "event: error\ndata: upstream\ndata: failed\n\n",
		"error that is cut":               "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overl\n\n",
		"error without data":              named("message_start", messageStart) + "event: error\n\n",
		"error of null":                   "event: error\ndata: null\n\n",
		"nonsense":                        named("message_start", messageStart) + "event: content_block_start\ndata: {\"type\n\n",
		"nonsense after the end":          message() + "event: x\ndata: {\n\n",
		"an array":                        "event: x\ndata: [1]\n\n" + message(),
		"null":                            "event: x\ndata: null\n\n" + message(),
		"index too large":                 message(block("1", `{"type":"text","text":"Hi"}`)),
		"index negative":                  message(block("-1", `{"type":"text","text":"Hi"}`)),
		"delta of no block":               message(named("content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"Hi"}`)),
		"stop of no block":                message(named("content_block_stop", `"index":4`)),
		"loose types":                     named("message_start", `"message":{"id":7,"model":true,"content":{},"usage":{"input_tokens":"12","output_tokens":3.0}}`) + block(`"0"`, `{"type":"text","text":5}`) + named("message_delta", `"delta":"x","usage":{"input_tokens":null,"output_tokens":"9"}`) + named("message_stop", ""),
		"all usage":                       named("message_start", messageStart) + named("message_delta", `"delta":{"stop_reason":"max_tokens"},"usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":30,"output_tokens":40,"output_tokens_details":{"thinking_tokens":50}}`) + named("message_stop", ""),
		"two deltas of the message":       named("message_start", messageStart) + named("message_delta", messageDelta) + named("message_delta", `"delta":{"stop_reason":"tool_use"}`) + named("message_stop", ""),
		"window":                          named("message_start", messageStart) + named("message_delta", `"delta":{"stop_reason":"model_context_window_exceeded"},"usage":{"output_tokens":-5}`) + named("message_stop", ""),
		"refusal":                         named("message_start", messageStart) + named("message_delta", `"delta":{"stop_reason":"refusal","stop_details":{"type":"refusal"}}`) + named("message_stop", ""),
		"two messages":                    message(block("0", `{"type":"text","text":"one"}`)) + message(block("0", `{"type":"text","text":"two"}`)),
		"no end":                          named("message_start", messageStart) + block("0", `{"type":"text","text":"Hi"}`),
		"done":                            message() + plain("[DONE]"),
		"long":                            message(block("0", `{"type":"text","text":""}`, `{"type":"text_delta","text":"`+strings.Repeat("long ", 40_000)+`"}`)),
	},
	"responses": {
		"text":                   named("response.created", `"response":{"id":"resp_1","error":null}`) + named("response.output_text.delta", `"delta":"Hel"`) + named("response.output_text.delta", `"delta":"lo.\u00e9\ud83d\ude00"`) + item(said) + completed(""),
		"items at the end":       completed(`,"output":[` + said + `,{"type":"function_call","call_id":"c","name":"read","arguments":"{\"a\":1}"}]`),
		"no names":               plain(`{"type":"response.output_item.done","item":`+said+`}`) + plain(`{"type":"response.completed","response":{"id":"r","model":"m"}}`),
		"tool":                   named("response.output_item.added", `"item":{"type":"function_call","id":"fc","call_id":"c1","name":"read","arguments":""}`) + named("response.function_call_arguments.delta", `"delta":"{\"a\\u00"`) + item(`{"type":"function_call","id":"fc","call_id":"c1","name":"read","arguments":"{\"a\":\"\\u00e9\"}","status":"completed"}`) + completed(""),
		"tool that is not JSON":  item(`{"type":"function_call","call_id":"c1","name":"read","arguments":"{\"a"}`) + completed(""),
		"arguments of an object": item(`{"type":"function_call","call_id":"c1","name":"read","arguments":{"a":1}}`) + item(`{"type":"function_call","call_id":"c2","name":"read","arguments":7}`) + item(`{"type":"function_call","call_id":"c3","name":"read","arguments":null}`) + item(`{"type":"function_call","call_id":"c4","name":"read"}`) + completed(""),
		"reasoning":              named("response.reasoning_summary_text.delta", `"delta":"hm <"`) + named("response.reasoning_text.delta", `"delta":"raw"`) + item(`{ "type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"hm \u003c"}],"encrypted_content":"ZW5j","new":1.50 }`) + item(said) + completed(""),
		"phases":                 item(strings.Replace(said, `"role"`, `"phase":"commentary","role"`, 1)) + item(`{"type":"message","phase":"final_answer","content":[]}`) + completed(""),
		"refusal":                named("response.refusal.delta", `"delta":"No"`) + item(`{"type":"message","content":[{"type":"refusal","refusal":"No."}]}`) + completed(""),
		"refusal and a call":     item(`{"type":"message","content":[{"type":"refusal","refusal":"No."}]}`) + item(`{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}`) + completed(""),
		"new items":              item(`{"type":"web_search_call","id":"ws","status":"completed","action":{"type":"search","query":"q"}}`) + item(`{"type":"new_item","x":[{}]}`) + item(`{}`) + item(`null`) + item(`5`) + named("response.output_item.done", "") + completed(""),
		"new events":             named("response.new", `"x":{}`) + item(said) + plain(`{"no":"type"}`) + completed(""),
		"incomplete":             item(said) + named("response.incomplete", `"response":{"id":"r","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}`),
		"filtered":               item(said) + named("response.incomplete", `"response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}`),
		"incomplete, no reason":  named("response.incomplete", `"response":{"status":"incomplete","incomplete_details":null}`),
		"failed":                 named("response.failed", `"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}}`),
		"failed without words":   named("response.failed", `"response":{"status":"failed","error":null}`),
		"error":                  named("error", `"code":"server_error","message":"sorry","param":null`),
		"error of null code":     named("error", `"code":null,"message":"sorry"`),
		"error member":           named("error", `"error":{"code":"insufficient_quota","message":"sorry"}`),
		"error in words":         plain(`{"error":"overloaded"}`),
		"error name, no data":    "event: error\n\n" + completed(""),
		"done":                   item(said) + plain("[DONE]") + completed(""),
		"after the end":          completed("") + named("error", `"code":"x"`) + "data: {\n\n",
		"comments":               ": ping\n\n:\n\n\n\n" + item(said) + ": x\n" + completed("") + "\n\n",
		"empty data":             "data:\n\n" + completed(""),
		"nonsense":               "data: {\"type\n\n" + completed(""),
		"an array":               plain(`[1]`) + completed(""),
		"null":                   plain(`null`) + completed(""),
		"a word":                 plain(`hello`) + completed(""),
		"loose types":            named("response.output_text.delta", `"delta":5`) + item(`{"type":"message","content":[{"type":"output_text","text":7}]}`) + item(`{"type":"message","content":"words"}`) + named("response.completed", `"response":{"id":7,"model":false,"output":{},"usage":{"input_tokens":"11","output_tokens":2.0,"input_tokens_details":null}}`),
		"usage of null":          named("response.completed", `"response":{"id":"r","usage":null}`),
		"nothing at the end":     named("response.completed", ""),
		"no end":                 item(said),
		"long":                   item(strings.Replace(said, "Hello", strings.Repeat("long ", 40_000), 1)) + completed(""),
	},
	"chat": {
		"text":                     chunk(`{"role":"assistant","content":""}`, "null") + chunk(`{"content":"Hel"}`, "null") + chunk(`{"content":"lo \u00e9\ud83d\ude00\n"}`, "null") + chunk(`{}`, `"stop"`) + plain(`{"id":"c1","model":"gpt","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"completion_tokens_details":{"reasoning_tokens":6}}}`) + plain("[DONE]"),
		"no done":                  chunk(`{"content":"Hi"}`, `"stop"`),
		"after done":               chunk(`{"content":"Hi"}`, `"stop"`) + plain("[DONE]") + plain(`{"error":{"code":"x"}}`) + "data: {\n\n",
		"done at once":             plain("[DONE]"),
		"done and more":            chunk(`{"content":"Hi"}`, `"stop"`) + plain("[DONE] bye"),
		"tools":                    chunk(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"read","arguments":""}}]}`, "null") + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"p\":\"\\u00"}}]}`, "null") + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"e9\"}"}},{"index":1,"id":"b","function":{"name":"shell","arguments":"{}"}}]}`, "null") + chunk(`{}`, `"tool_calls"`) + plain("[DONE]"),
		"tool that is not JSON":    chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p"}}]}`, `"tool_calls"`),
		"arguments of an object":   chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":{"p": 1}}}]}`, `"tool_calls"`),
		"arguments of null":        chunk(`{"tool_calls":[{"index":0,"id":null,"function":{"name":"read","arguments":null}},null]}`, `"tool_calls"`),
		"indexes that are texts":   chunk(`{"tool_calls":[{"index":"1","id":"b","function":{"name":"read","arguments":"{}"}},{"index":0.0,"id":5,"function":{"name":"x"}}]}`, `"tool_calls"`),
		"wild indexes":             chunk(`{"tool_calls":[{"index":-1,"id":"b","function":{"name":"read"}},{"index":99999999999999999999,"function":{"name":"x"}},{"index":3,"function":{"name":"y"}}]}`, `"tool_calls"`),
		"reasoning":                chunk(`{"reasoning_content":"hm"}`, "null") + chunk(`{"reasoning":"mm"}`, "null") + chunk(`{"reasoning_content":null,"reasoning":"lost"}`, "null") + chunk(`{"reasoning_content":{"x":1},"reasoning":"kept"}`, "null") + chunk(`{"content":"Hi"}`, `"stop"`),
		"refusal":                  chunk(`{"refusal":"No."}`, "null") + chunk(`{"content":null}`, `"stop"`),
		"filtered":                 chunk(`{"content":"H"}`, `"content_filter"`),
		"length":                   chunk(`{"content":"H"}`, `"length"`),
		"other choices":            plain(`{"choices":[{"index":1,"delta":{"content":"B"},"finish_reason":"stop"},{"index":0,"delta":{"content":"A"},"finish_reason":"stop"}]}`),
		"no choices":               plain(`{"id":"x","choices":null}`) + plain(`{"id":"x"}`) + chunk(`null`, `"stop"`),
		"new members":              plain(`{"x":{"y":[1]},"choices":[{"index":0,"z":1,"delta":{"new":[{}],"content":"Hi"},"finish_reason":"stop"}]}`),
		"usage on each":            plain(`{"usage":{"prompt_tokens":1},"choices":[{"index":0,"delta":{"content":"Hi"}}]}`) + plain(`{"usage":{"prompt_tokens":2,"completion_tokens":"3"},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) + plain(`{"usage":null,"choices":[]}`),
		"loose types":              plain(`{"id":5,"model":1,"choices":[{"index":"0","delta":{"content":7},"finish_reason":true}],"usage":{"prompt_tokens":" 4","completion_tokens":1e3}}`),
		"choices of an object":     plain(`{"choices":{"index":0}}`) + chunk(`{"content":"Hi"}`, `"stop"`),
		"error":                    chunk(`{"content":"Hi"}`, "null") + plain(`{"error":{"message":"overloaded","code":"server_is_overloaded"}}`),
		"error after the end":      chunk(`{"content":"Hi"}`, `"stop"`) + plain(`{"error":{"message":"late","type":"server_error"}}`),
		"error in words":           plain(`{"error":"the model crashed"}`),
		"error with a number":      plain(`{"error":{"code":429,"message":"slow","type":"rate_limit_error"}}`),
		"error deeper":             chunk(`{"content":"\"error\"","error":{"x":1}}`, `"stop"`),
		"error under a name":       "event: error\ndata: {\"message\":\"x\"}\n\n" + chunk(`{"content":"Hi"}`, `"stop"`),
		"comments":                 ": OPENROUTER PROCESSING\n\n" + chunk(`{"content":"Hi"}`, "null") + ":\n\n\n" + chunk(`{}`, `"stop"`) + plain("[DONE]"),
		"names":                    "event: message\nid: 1\n" + chunk(`{"content":"Hi"}`, `"stop"`),
		"a name without data":      "event: ping\n\n" + chunk(`{"content":"Hi"}`, `"stop"`),
		"empty data":               "data:\n\n" + chunk(`{"content":"Hi"}`, `"stop"`),
		"empty data at the end":    chunk(`{"content":"Hi"}`, `"stop"`) + "data: \n\n",
		"nonsense":                 "data: {\"choices\n\n",
		"nonsense after the end":   chunk(`{"content":"Hi"}`, `"stop"`) + plain(`hello`),
		"an array":                 plain(`[{"index":0}]`) + chunk(`{"content":"Hi"}`, `"stop"`),
		"null":                     plain(`null`) + chunk(`{"content":"Hi"}`, `"stop"`),
		"other fields of a stream": "retry: 5\nfoo: bar\ndatax: {\nDATA: {\n data: {\n" + chunk(`{"content":"Hi"}`, `"stop"`),
		"long":                     chunk(`{"content":"`+strings.Repeat("long ", 40_000)+`"}`, `"stop"`),
	},
}

// TestVendorsReadTheSame gives the same bytes to the services' own packages and to deed's clients.
func TestVendorsReadTheSame(t *testing.T) {
	t.Parallel()
	eachVendor(t, func(t *testing.T, own, vendor wire) {
		for name, body := range streams[own.name] {
			want := read(t, vendor.canned(t, canned{body: body}))
			if want.Error.Kind == "" && want.Response.Stop == "" {
				t.Fatalf("%s: nothing was read", name)
			}
			for form, changed := range map[string]string{
				"as it is": body, "CRLF": strings.ReplaceAll(body, "\n", "\r\n"), "after a mark": "\ufeff" + body,
				"comments": strings.ReplaceAll(body, "\n", "\n: comment\n"),
			} {
				if diff := sameReading(t, want, read(t, own.canned(t, canned{body: changed}))); diff != "" {
					t.Errorf("%s, %s: %s", name, form, diff)
				}
			}
		}
	})
}

// TestVendorsReadLines: an event whose data takes several lines.
func TestVendorsReadLines(t *testing.T) {
	t.Parallel()
	eachVendor(t, func(t *testing.T, own, vendor wire) {
		for _, name := range []string{"text", "tool", "tools", "reasoning", "server tools"} {
			body := strings.ReplaceAll(streams[own.name][name], `,"`, ",\ndata: \"")
			if body == "" {
				continue
			}
			if diff := sameReading(t, read(t, vendor.canned(t, canned{body: body})), read(t, own.canned(t, canned{body: body}))); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// TestVendorsAreCutTheSame ends answers after each byte.
func TestVendorsAreCutTheSame(t *testing.T) {
	t.Parallel()
	eachVendor(t, func(t *testing.T, own, vendor wire) {
		for _, name := range []string{"tool", "tools"} {
			body := streams[own.name][name]
			for end := range len(body) {
				cut := canned{body: body[:end]}
				if diff := sameReading(t, read(t, vendor.canned(t, cut)), read(t, own.canned(t, cut))); diff != "" {
					t.Errorf("%s until %d: %s", name, end, diff)
				}
			}
		}
	})
}

// TestLinesMayBeAsLongAsAnswers: the services' packages give up at 32 MB of one line, and a scanner at 64 KB.
func TestLinesMayBeAsLongAsAnswers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"messages", "responses", "chat"} {
		w := wireOf(t, name)
		body := strings.Replace(streams[name]["long"], "long ", strings.Repeat("x", 600_000), 1)
		got := read(t, w.canned(t, canned{body: body}))
		if got.Error.Kind != "" || len(got.Response.Text()) < 700_000 {
			t.Errorf("%s: %d bytes, %v", name, len(got.Response.Text()), got.Error)
		}
		got = read(t, w.canned(t, canned{body: strings.Replace(body, "x", strings.Repeat("x", 1<<20), 1)}))
		if got.Error.Kind != model.KindGarbage {
			t.Errorf("%s: an answer that is too large: %v", name, got.Error)
		}
	}
}

// TestOpaqueBlocksKeepTheirBytes: what no delta touched goes back unchanged, and a member that a delta changed keeps its position.
func TestOpaqueBlocksKeepTheirBytes(t *testing.T) {
	t.Parallel()
	for begin, want := range map[string]string{
		`{ "type":"thinking", "thinking":"", "signature":"", "n":1.50 }`: `{ "type":"thinking", "thinking":"<hm>", "signature":"c2ln", "n":1.50 }`,
		`{"type":"thinking"}`: `{"type":"thinking","thinking":"<hm>","signature":"c2ln"}`,
	} {
		body := message(block("0", `{"type":"redacted_thinking","data":"\u0065HlA","n":1.50}`),
			block("1", begin, `{"type":"thinking_delta","thinking":"<hm>"}`, `{"type":"signature_delta","signature":"c2ln"}`))
		got := read(t, wireOf(t, "messages").canned(t, canned{body: body})).Response.Blocks
		if len(got) != 2 || string(got[0].Opaque) != `{"type":"redacted_thinking","data":"\u0065HlA","n":1.50}` || string(got[1].Opaque) != want {
			t.Errorf("%s", json.RawMessage(got[1].Opaque))
		}
	}
}

// vary puts values of all types in the place of each member of a document, leaves each out, and calls try each time. Not
// tried are what is no object in a list of objects, what is no block or no usage, and an odd input of a call: there the
// packages drop the whole list or make something up, and deed's clients leave out what is wrong.
func vary(document any, try func()) {
	switch d := document.(type) {
	case map[string]any:
		for name, value := range d {
			vary(value, try)
			if name == "content_block" || name == "usage" || name == "input" || name == "partial_json" {
				continue
			}
			for _, other := range []any{nil, 5, -1.5, "x", "7", map[string]any{}, map[string]any{"a": 1}, []any{}, []any{map[string]any{}}} {
				d[name] = other
				try()
			}
			delete(d, name)
			try()
			d[name] = value
		}
	case []any:
		for _, value := range d {
			vary(value, try)
		}
	}
}

// TestVendorsReadOtherTypes: services that are only nearly compatible are read as their packages read them.
func TestVendorsReadOtherTypes(t *testing.T) {
	t.Parallel()
	eachVendor(t, func(t *testing.T, own, vendor wire) {
		tried := 0
		for _, name := range []string{"text", "tool", "tools", "server tools", "failed"} {
			events := strings.SplitAfter(streams[own.name][name], "\n\n")
			for i, event := range events {
				head, data, _ := strings.Cut(event, "data: ")
				var document any
				if json.Unmarshal([]byte(data), &document) != nil {
					continue
				}
				vary(document, func() {
					changed, err := json.Marshal(document)
					if err != nil {
						t.Fatal(err)
					}
					body := canned{body: strings.Join(events[:i], "") + head + plain(string(changed)) + strings.Join(events[i+1:], "")}
					if diff := sameReading(t, read(t, vendor.canned(t, body)), read(t, own.canned(t, body))); diff != "" {
						t.Errorf("%s: %s: %s", name, changed, diff)
					}
					tried++
				})
			}
		}
		if tried < 500 {
			t.Errorf("only %d answers were tried", tried)
		}
	})
}
