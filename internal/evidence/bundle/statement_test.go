package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// theirs reads a statement with in-toto's own type. stage says which step refused it.
func theirs(payload []byte) (out received, predicate string, stage int, err error) {
	var st intoto.Statement
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(payload, &st); err != nil {
		return out, "", 1, err
	}
	if err := st.Validate(); err != nil {
		return out, "", 2, err
	}
	out.typ, out.predicateType = st.GetType(), st.GetPredicateType()
	for _, s := range st.GetSubject() {
		d := descriptor{s.GetName(), s.GetUri(), s.GetDigest()}
		if d.digest == nil {
			d.digest = map[string]string{}
		}
		out.subjects = append(out.subjects, d)
	}
	var p Predicate
	text, err := protojson.Marshal(st.GetPredicate())
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return out, "", 3, err
	}
	return out, fmt.Sprintf("%+v", p), 0, nil
}

func ours(payload []byte) (st received, predicate string, stage int, err error) {
	if st, err = readStatement(payload); err != nil {
		return st, "", 1, err
	}
	if err := st.validate(); err != nil {
		return st, "", 2, err
	}
	var p Predicate
	text, err := json.Marshal(st.predicate)
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return st, "", 3, err
	}
	st.predicate = nil
	return st, fmt.Sprintf("%+v", p), 0, nil
}

// agreeOn compares what is read here with what in-toto's type reads.
func agreeOn(t *testing.T, payload string) {
	t.Helper()
	own, ownPredicate, ownStage, ownErr := ours([]byte(payload))
	want, predicate, stage, err := theirs([]byte(payload))
	if ownStage == 1 && strings.Contains(ownErr.Error(), "duplicate object member name") {
		return // protobuf's reader lets it pass below a member that it does not know
	}
	if ownStage != stage {
		t.Errorf("%s\nours: step %d, %v\ntheirs: step %d, %v", payload, ownStage, ownErr, stage, err)
		return
	}
	if stage == 0 {
		if d := cmp.Diff(want, own, cmp.AllowUnexported(received{}, descriptor{})); d != "" || predicate != ownPredicate {
			t.Errorf("%s (-theirs +ours)\n%s%s\n%s", payload, d, predicate, ownPredicate)
		}
	}
}

// values stand in for members of a statement, good and bad.
var values = []string{
	`null`, `true`, `1`, `-0.5`, `1e3`, `""`, `"x"`, `"https://in-toto.io/Statement/v1"`, `"https://in-toto.io/Statement/v0.1"`, `"https://in-toto.io/Statement/v2"`, `[]`, `{}`, `[null]`, `[{}]`, `["x"]`, `[1]`,
	`{"a":1}`, `{"a":"b"}`, `{"a":null}`, `{"sha256":"ab"}`, `{"sha256":"zz"}`, `{"sha256":null}`, `{"md5":"00112233445566778899aabbccddeeff"}`, `{"md5":"00112233445566778899AABBCCDDEEFF","x":"y"}`,
	`"\ud800"`, `"\ud83d\ude00"`, "\"\xff\"", `"AA=="`, `"AA"`, `"_-8"`, `"_+8"`, `"*"`, `{"a":{"b":[1,null,{"c":true}]}}`, `{"a":1,"a":2}`, `{"verdict":"accepted"}`, `{"VERDICT":"x","verdict":"y"}`, `{"verdict":1}`, `{"reasons":["a"]}`, `{"reasons":"a"}`, `{"signer":{"keyId":"k"}}`, `01`, `{`, ``,
}

// A statement in which one or two members are something else is read, or refused at the same step, as in-toto's own type does it.
func TestStatementsAreReadAsInTotoReadsThem(t *testing.T) {
	t.Parallel()
	good := map[string]string{"_type": `"https://in-toto.io/Statement/v1"`, "subject": `[{"name":"n","digest":{"x":"y"}}]`, "predicateType": `"p"`, "predicate": `{"verdict":"accepted"}`}
	subject := map[string]string{"name": `"n"`, "digest": `{"x":"y"}`}
	object := func(of map[string]string, change ...string) string {
		of = maps.Clone(of)
		var extra []string
		for i := 0; i < len(change); i += 2 {
			if _, ok := of[change[i]]; !ok || i == 0 {
				of[change[i]] = change[i+1]
			} else {
				extra = append(extra, fmt.Sprintf("%q:%s", change[i], change[i+1]))
			}
		}
		for _, k := range slices.Sorted(maps.Keys(of)) {
			if of[k] != "-" {
				extra = append(extra, fmt.Sprintf("%q:%s", k, of[k]))
			}
		}
		return "{" + strings.Join(extra, ",") + "}"
	}
	agreeOn(t, object(good))
	for _, payload := range []string{``, `null`, `[]`, `{}`, `"x"`, object(good) + "x", object(good) + object(good), " \n" + object(good) + " ", "\xef\xbb\xbf" + object(good)} {
		agreeOn(t, payload)
	}
	for _, name := range []string{"_type", "type", "subject", "predicateType", "predicate_type", "predicate", "Subject", "PREDICATE", "other", "@type", "[x]"} {
		agreeOn(t, object(good, name, "-"))
		for _, v := range values {
			agreeOn(t, object(good, name, v))
			for _, instead := range []string{"_type", "predicateType"} {
				agreeOn(t, object(good, name, v, instead, `"x"`))
				agreeOn(t, object(good, instead, "-", name, v))
			}
		}
	}
	for _, name := range []string{"name", "uri", "digest", "content", "downloadLocation", "download_location", "mediaType", "media_type", "annotations", "Name", "other"} {
		for _, v := range append(values, "-") {
			agreeOn(t, object(good, "subject", "["+object(subject, name, v)+"]"))
			agreeOn(t, object(good, "subject", "["+object(subject)+","+object(subject, name, v, "digest", `{"sha1":"x"}`)+"]"))
			agreeOn(t, object(good, "subject", "["+object(map[string]string{}, name, v)+"]"))
			agreeOn(t, object(good, "subject", "["+object(subject, "mediaType", `"m"`, name, v, "media_type", "null")+"]"))
		}
	}
	for algorithm := range intoto.HashAlgorithms {
		for _, digest := range []string{"", "00", "zz", strings.Repeat("0f", 16), strings.Repeat("0f", 20), strings.Repeat("0f", 28), strings.Repeat("0F", 32), strings.Repeat("0f", 48), strings.Repeat("0f", 64), "0"} {
			agreeOn(t, object(good, "subject", fmt.Sprintf(`[{"digest":{%q:%q}}]`, algorithm, digest)))
		}
	}
	if len(digestSizes) != len(intoto.HashAlgorithms) {
		t.Errorf("%d algorithms are known, in-toto knows %d", len(digestSizes), len(intoto.HashAlgorithms))
	}
}

func FuzzStatement(f *testing.F) {
	f.Add([]byte(`{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"n","digest":{"x":"y"}}],"predicateType":"p","predicate":{"verdict":"accepted"}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		_, _, stage, err := ours(payload)
		_, _, want, _ := theirs(payload)
		if want > 0 && stage == 0 {
			t.Errorf("%q is taken, and in-toto's type refuses it (%v)", payload, err)
		}
	})
}
