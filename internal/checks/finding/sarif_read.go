package finding

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/runner"
)

// maxSARIF bounds a log, which is held in memory as a whole.
const maxSARIF = 128 << 20

// ReadSARIF reads the findings of a SARIF 2.1.0 log. Results that are suppressed, that passed, or that an earlier log is
// said to have had are none. Paths below root become relative to it; code flows, taxonomies and graphs are not looked at.
//
// The findings that could be read are returned with the error that names those that could not, and so are those of a tool
// that says of itself that it did not come to its end: what it found is true, what it did not find is not known.
func ReadSARIF(r io.Reader, root string) ([]runner.LintFinding, error) {
	return readSARIF(r, root, maxSARIF)
}

func readSARIF(r io.Reader, root string, size int64) ([]runner.LintFinding, error) {
	in := &capped{r: r, left: size}
	text, err := io.ReadAll(in)
	switch {
	case err != nil:
		return nil, err
	case in.over:
		return nil, tooLarge("$", fmt.Sprintf("is longer than %d MiB", size>>20))
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	}
	var log sarifLog
	if err := json.Unmarshal(text, &log, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, notSARIF(err)
	}
	if log.Version == "" && log.Runs == nil {
		return nil, fault.Faults{{Path: "$", Code: fault.WrongType, Message: "is an object, neither an array of findings nor a SARIF log"}}
	}
	if !strings.HasPrefix(log.Version, "2.1.") {
		return nil, fault.Faults{{Path: "$.version", Code: fault.WrongSchema, Message: fmt.Sprintf("is %q, not 2.1.0", log.Version), Remedy: "let the tool write SARIF 2.1.0"}}
	}
	s := sarifReader{paths: newPaths(root)}
	for i := range log.Runs {
		s.run(&log.Runs[i], fmt.Sprintf("$.runs[%d]", i))
	}
	return s.found, s.faults.Err()
}

func notSARIF(err error) error {
	var wrong *json.SemanticError
	if errors.As(err, &wrong) {
		return fault.Faults{{Path: "$" + pointerPath(wrong.JSONPointer), Code: fault.WrongType, Message: "is " + kindName(wrong.JSONKind) + ", which SARIF does not have there"}}
	}
	return fault.Faults{{Path: "$", Code: fault.InvalidJSON, Message: "is no JSON: " + err.Error()}}
}

// pointerPath writes a JSON pointer as the path that faults have.
func pointerPath(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, ok := digits(token); ok {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return b.String()
}

// The part of the format that findings are made of.
type (
	sarifLog struct {
		Schema  string     `json:"$schema,omitempty"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver     sarifComponent   `json:"driver"`
			Extensions []sarifComponent `json:"extensions,omitempty"`
		} `json:"tool"`
		Automation  *sarifAutomation         `json:"automationDetails,omitempty"`
		Invocations []sarifInvocation        `json:"invocations,omitempty"`
		Bases       map[string]sarifLocation `json:"originalUriBaseIds,omitempty"`
		Artifacts   []sarifArtifact          `json:"artifacts,omitempty"`
		Results     []sarifResult            `json:"results"`
		External    *sarifExternal           `json:"externalPropertyFileReferences,omitempty"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifExternal struct {
		Results []jsontext.Value `json:"results,omitempty"`
	}
	sarifArtifact struct {
		Location sarifLocation `json:"location"`
	}
	sarifComponent struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules,omitempty"`
	}
	sarifRule struct {
		ID         string                  `json:"id"`
		HelpURI    string                  `json:"helpUri,omitempty"`
		Default    *sarifConfiguration     `json:"defaultConfiguration,omitempty"`
		Messages   map[string]sarifMessage `json:"messageStrings,omitempty"`
		Properties *sarifProperties        `json:"properties,omitempty"`
	}
	sarifConfiguration struct {
		Level string `json:"level,omitempty"`
	}
	sarifProperties struct {
		Category jsontext.Value `json:"category,omitempty"` // a string where it is ours to read
		ID       jsontext.Value `json:"deedId,omitempty"`   // the finding's, as its tool gives it
		Tags     jsontext.Value `json:"tags,omitempty"`
	}
	sarifInvocation struct {
		Successful    *bool               `json:"executionSuccessful"`
		ExitCode      *int                `json:"exitCode,omitempty"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level,omitempty"`
		Message sarifMessage `json:"message"`
	}
	sarifMessage struct {
		Text      string   `json:"text,omitempty"`
		ID        string   `json:"id,omitempty"`
		Arguments []string `json:"arguments,omitempty"`
	}
	sarifLocation struct {
		URI    string `json:"uri,omitempty"`
		BaseID string `json:"uriBaseId,omitempty"`
		Index  *int   `json:"index,omitempty"`
	}
	sarifPlace struct {
		Physical struct {
			Artifact sarifLocation `json:"artifactLocation"`
			Region   *sarifRegion  `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine,omitzero"`
		StartColumn int `json:"startColumn,omitzero"`
	}
	sarifSuppression struct {
		Kind   string `json:"kind"`
		Status string `json:"status,omitempty"`
	}
	sarifRuleRef struct {
		ID        string `json:"id,omitempty"`
		Index     *int   `json:"index,omitempty"`
		Component *struct {
			Index *int   `json:"index,omitempty"`
			Name  string `json:"name,omitempty"`
		} `json:"toolComponent,omitempty"`
	}
	sarifResult struct {
		RuleID        string             `json:"ruleId,omitempty"`
		RuleIndex     *int               `json:"ruleIndex,omitempty"`
		Rule          *sarifRuleRef      `json:"rule,omitempty"`
		Kind          string             `json:"kind,omitempty"`
		Level         string             `json:"level,omitempty"`
		Message       sarifMessage       `json:"message"`
		Locations     []sarifPlace       `json:"locations,omitempty"`
		Partial       map[string]string  `json:"partialFingerprints,omitempty"`
		Fingerprints  map[string]string  `json:"fingerprints,omitempty"`
		BaselineState string             `json:"baselineState,omitempty"`
		Suppressions  []sarifSuppression `json:"suppressions,omitempty"`
		Fixes         []jsontext.Value   `json:"fixes,omitempty"`
		Properties    *sarifProperties   `json:"properties,omitempty"`
	}
)

type sarifReader struct {
	paths  paths
	found  []runner.LintFinding
	faults fault.List
}

func (s *sarifReader) run(run *sarifRun, at string) {
	if run.External != nil && len(run.External.Results) > 0 {
		s.faults.Add(at+".externalPropertyFileReferences.results", fault.UnknownField, "leaves the results to other files, which deed does not read", "let the tool write one file")
	}
	for i, inv := range run.Invocations {
		if inv.Successful != nil && !*inv.Successful {
			s.faults.Add(fmt.Sprintf("%s.invocations[%d].executionSuccessful", at, i), fault.Conflict, cmp.Or(run.Tool.Driver.Name, "the tool")+" says that it did not come to its end"+notified(inv), "")
		}
	}
	for i := range run.Results {
		r := &run.Results[i]
		if r.absent() {
			continue
		}
		if len(s.found) == maxFindings {
			s.faults.Add(at, fault.OutOfRange, fmt.Sprintf("has more than %d findings", maxFindings), "")
			return
		}
		f, ok := s.finding(run, r)
		if !ok {
			s.faults.Add(fmt.Sprintf("%s.results[%d].message", at, i), fault.MissingField, "says nothing: it has no text, and no message of its rule", "")
			continue
		}
		s.found = append(s.found, f)
	}
}

// notified is the first error that a tool tells of itself.
func notified(inv sarifInvocation) string {
	for _, n := range inv.Notifications {
		if n.Level == "error" && n.Message.Text != "" {
			return ": " + n.Message.Text
		}
	}
	return ""
}

// absent reports whether a result is no finding of this run.
func (r *sarifResult) absent() bool {
	switch r.Kind {
	case "pass", "notApplicable", "informational":
		return true
	}
	if r.BaselineState == "absent" {
		return true
	}
	for _, s := range r.Suppressions {
		if s.Status == "underReview" || s.Status == "rejected" { // one that nobody granted takes the others with it
			return false
		}
	}
	return len(r.Suppressions) > 0
}

func (s *sarifReader) finding(run *sarifRun, r *sarifResult) (runner.LintFinding, bool) {
	rule, id := run.rule(r)
	text, ok := r.Message.text(rule)
	if !ok {
		return runner.LintFinding{}, false
	}
	f := runner.LintFinding{
		Message:  text,
		Tool:     cmp.Or(run.Tool.Driver.Name, defaultTool),
		Rule:     id,
		Severity: r.severity(rule),
		Category: cmp.Or(r.Properties.category(), rule.Properties.category()),
		Fixable:  len(r.Fixes) > 0,
	}
	if len(r.Locations) > 0 {
		p := &r.Locations[0].Physical
		f.File = s.paths.relative(run.file(p.Artifact))
		if p.Region != nil {
			f.Line, f.Column = max(p.Region.StartLine, 0), max(p.Region.StartColumn, 0)
		}
	}
	f.ID = r.identity(f)
	s.extra(&f, r, rule)
	return f, true
}

// identity is the one that deed wrote, or the tool's own where it gives one for the whole result; a partial one is made for others to build on.
func (r *sarifResult) identity(f runner.LintFinding) string {
	var ours string
	if r.Properties != nil && json.Unmarshal(r.Properties.ID, &ours) == nil && ours != "" {
		return ours
	}
	best := ""
	for name := range r.Fingerprints {
		best = max(best, name) // the names end in a version
	}
	if best != "" && r.Fingerprints[best] != "" {
		return r.Fingerprints[best]
	}
	return f.File + "::" + f.Rule + "::" + strconv.Itoa(f.Line)
}

func (s *sarifReader) extra(f *runner.LintFinding, r *sarifResult, rule *sarifRule) {
	f.Extra = map[string]rawMessage{}
	if len(r.Partial) > 0 {
		if text, err := json.Marshal(r.Partial, json.Deterministic(true)); err == nil {
			f.Extra[partialKey] = rawMessage(text)
		}
	}
	if rule.HelpURI != "" {
		f.Extra["help_uri"] = quote(rule.HelpURI)
	}
	if len(f.Extra) == 0 {
		f.Extra = nil
	}
}

// partialKey keeps a result's partial fingerprints.
const partialKey = "partial_fingerprints"

// rule finds a result's rule: by its index, or by its id up to the part after a slash that narrows it.
func (run *sarifRun) rule(r *sarifResult) (*sarifRule, string) {
	component, id, index := &run.Tool.Driver, r.RuleID, r.RuleIndex
	if ref := r.Rule; ref != nil {
		id = cmp.Or(id, ref.ID)
		if ref.Index != nil {
			index = ref.Index
		}
		if c := ref.Component; c != nil && c.Index != nil && *c.Index >= 0 && *c.Index < len(run.Tool.Extensions) {
			component = &run.Tool.Extensions[*c.Index]
		}
	}
	if index != nil && *index >= 0 && *index < len(component.Rules) {
		rule := &component.Rules[*index]
		return rule, cmp.Or(id, rule.ID)
	}
	for i := range component.Rules {
		if rule := &component.Rules[i]; rule.ID == id || strings.HasPrefix(id, rule.ID+"/") {
			return rule, id
		}
	}
	return &sarifRule{}, id
}

// severity is the level, which the rule gives where the result does not.
func (r *sarifResult) severity(rule *sarifRule) string {
	level := r.Level
	if level == "" && rule.Default != nil {
		level = rule.Default.Level
	}
	switch {
	case r.Kind != "" && r.Kind != "fail": // open, review: a person has to look
		return "note"
	case level == "":
		return "warning"
	}
	return level
}

// category reads the property that many tools write, or a tag that says as much.
func (p *sarifProperties) category() string {
	if p == nil {
		return ""
	}
	var category string
	if json.Unmarshal(p.Category, &category) == nil && category != "" {
		return category
	}
	var tags []string
	if json.Unmarshal(p.Tags, &tags) == nil {
		for _, tag := range tags {
			if strings.EqualFold(tag, "security") {
				return "security"
			}
		}
	}
	return ""
}

// text returns what a message says: its own text, or one of its rule's, with the arguments in place.
func (m sarifMessage) text(rule *sarifRule) (string, bool) {
	text := m.Text
	if text == "" && m.ID != "" {
		text = rule.Messages[m.ID].Text
	}
	if text == "" {
		return "", false
	}
	if len(m.Arguments) > 0 {
		text = fill(text, m.Arguments)
	}
	return text, true
}

// fill puts arguments in the places {0}, {1}, …; {{ and }} stand for one brace.
func fill(text string, args []string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c {
			i++
		} else if c == '{' {
			if end := strings.IndexByte(text[i:], '}'); end > 0 {
				if n, ok := digits(text[i+1 : i+end]); ok && int(n) < len(args) {
					b.WriteString(args[n])
					i += end
					continue
				}
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// maxBases bounds how often a base refers to another one; a log can make a ring of them.
const maxBases = 8

// file returns the path of an artifact: as it is where nothing says what it is relative to.
func (run *sarifRun) file(loc sarifLocation) string {
	if loc.URI == "" && loc.Index != nil && *loc.Index >= 0 && *loc.Index < len(run.Artifacts) {
		loc = run.Artifacts[*loc.Index].Location
	}
	uri := loc.URI
	for range maxBases {
		if loc.BaseID == "" || uri == "" || absolute(uri) {
			break
		}
		base, ok := run.Bases[loc.BaseID]
		if !ok {
			break
		}
		if base.URI != "" {
			uri = strings.TrimSuffix(base.URI, "/") + "/" + uri
		}
		loc.BaseID = base.BaseID
	}
	return uriPath(uri)
}

func absolute(uri string) bool {
	return path.IsAbs(uri) || strings.Contains(uri, "://")
}

// uriPath returns the path that a URI names on this machine. What is no URI is taken as a path: many tools write one.
func uriPath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "" && u.Scheme != "file" || u.Path == "" {
		return uri
	}
	return u.Path
}
