package evidence

// Statuses of a changed file.
const (
	ChangeAdded    = "added"
	ChangeModified = "modified"
	ChangeDeleted  = "deleted"
)

// ChangedFiles is files/changed-files.json: every path that differs between the workspace before and after.
type ChangedFiles struct {
	Schema string        `json:"schema"`
	Files  []ChangedFile `json:"files"`
}

// A ChangedFile is one changed path. Hashes are over the file's exact bytes (a symlink's are over its target text);
// modes are git's six octal digits.
type ChangedFile struct {
	Path         string `json:"path"` // mount target, slash, relative path
	RelativePath string `json:"relativePath"`
	Status       string `json:"status"`
	BeforeSHA256 string `json:"beforeSha256,omitempty"`
	BeforeMode   string `json:"beforeMode,omitempty"`
	AfterSHA256  string `json:"afterSha256,omitempty"`
	AfterMode    string `json:"afterMode,omitempty"`
	MountIndex   int    `json:"mountIndex"`
	MountTarget  string `json:"mountTarget"`
	PatchPath    string `json:"patchPath,omitempty"` // empty when the change is not in the patch
	Class        string `json:"class,omitempty"`     // deed: "ignored" when the change is kept out of the patch
}

// Statuses of a test result. Unknown means that no structured test ran: it is never a pass.
const (
	TestsPassed  = "passed"
	TestsFailed  = "failed"
	TestsSkipped = "skipped"
	TestsUnknown = "unknown"
)

// TestResults is files/test-results.json.
type TestResults struct {
	Schema           string          `json:"schema"`
	Status           string          `json:"status"`
	Summary          TestSummary     `json:"summary"`
	Suites           []TestSuite     `json:"suites"`
	RawLogReferences []FileReference `json:"rawLogReferences"`
}

// A TestSummary counts tests over all suites.
type TestSummary struct {
	Total   int `json:"total"`
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	Unknown int `json:"unknown"`
}

// A TestSuite counts the tests of one suite.
type TestSuite struct {
	Name             string          `json:"name"`
	Status           string          `json:"status"`
	Tests            int             `json:"tests"`
	Passed           int             `json:"passed"`
	Failed           int             `json:"failed"`
	Skipped          int             `json:"skipped"`
	Unknown          int             `json:"unknown"`
	ExitCode         *int            `json:"exitCode,omitempty"` // deed: of the check that the suite is; without tests it is all that is known
	RawLogReferences []FileReference `json:"rawLogReferences,omitempty"`
}

// A FileReference names a file of the bundle.
type FileReference struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
}
