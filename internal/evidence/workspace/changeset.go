package workspace

// A Status says what happened to a path.
type Status string

// The statuses. A rename is a deletion and an addition.
const (
	Added       Status = "added"
	Modified    Status = "modified"
	Deleted     Status = "deleted"
	TypeChanged Status = "type_changed" // for example a file became a symbolic link or a directory
	ModeChanged Status = "mode_changed"
)

// A Class says how a change can travel.
type Class string

// The classes.
const (
	// ClassTracked changes are in the patch.
	ClassTracked Class = "tracked"
	// ClassIgnored changes are at paths that the base's own ignore rules leave out. They are listed, not carried.
	ClassIgnored Class = "ignored"
	// ClassGit is a change inside a .git, known by its digest only.
	ClassGit Class = "git"
	// ClassUnrepresentable changes are those that a git patch cannot express; Reason says why.
	ClassUnrepresentable Class = "unrepresentable"
)

// A Reason says why a change cannot be expressed by a patch.
type Reason string

// The reasons.
const (
	ReasonEmptyDirectory Reason = "empty_directory"      // git has no directories of their own
	ReasonSpecialFile    Reason = "special_file"         // a FIFO, socket or device
	ReasonModeBits       Reason = "mode_bits"            // permission bits other than the owner's x on a file
	ReasonSpecialBits    Reason = "special_bits"         // set-user-id, set-group-id or sticky
	ReasonOwnership      Reason = "ownership"            // the owner or the group changed
	ReasonUnreadable     Reason = "unreadable"           // deed may not read it, or the directory it was in
	ReasonReservedName   Reason = "reserved_name"        // git refuses the name, see reservedByGit
	ReasonTooLarge       Reason = "too_large"            // larger than MaxPatchFile
	ReasonInTheWay       Reason = "directory_in_the_way" // the directory that was there held empty directories or special files
)

// MaxPatchFile is the largest file, in bytes, that is carried in a patch. git apply takes patches below 1 GiB, and
// a changed binary file is in it twice.
const MaxPatchFile = 256 << 20

// A Change is one changed path. A path can occur twice: once with what the patch carries, and once, as
// unrepresentable, with what it does not (a file with new content that is set-user-id as well).
type Change struct {
	Path   string
	Status Status
	Class  Class
	Reason Reason // for ClassUnrepresentable
	Before *Entry // nil when added
	After  *Entry // nil when deleted
	// BeforeGit and AfterGit are set for ClassGit, and Before and After are nil then.
	BeforeGit *GitDir
	AfterGit  *GitDir
}

// A ChangeSet is what separates two manifests, in bytewise order of the paths.
type ChangeSet struct {
	Changes []Change
}

// Of returns the changes of one class.
func (cs ChangeSet) Of(c Class) []Change {
	var out []Change
	for _, ch := range cs.Changes {
		if ch.Class == c {
			out = append(out, ch)
		}
	}
	return out
}

// Empty reports whether the patch of this change set is empty.
func (cs ChangeSet) Empty() bool {
	for i := range cs.Changes {
		if cs.Changes[i].Class == ClassTracked {
			return false
		}
	}
	return true
}

// A ChangedFile is a tracked change in the terms of the bundle's changed-files document. Digests are over the true
// bytes of a file, or of the target of a link.
type ChangedFile struct {
	Path         string `json:"-"`            // any bytes but NUL
	RelativePath string `json:"relativePath"` // the same as documents name it: see TextPath
	Status       string `json:"status"`       // added, modified or deleted
	BeforeSHA256 string `json:"beforeSha256,omitempty"`
	BeforeMode   string `json:"beforeMode,omitempty"` // 100644, 100755 or 120000
	AfterSHA256  string `json:"afterSha256,omitempty"`
	AfterMode    string `json:"afterMode,omitempty"`
}

// Files returns what the patch carries, one entry for each path.
func (cs ChangeSet) Files() []ChangedFile {
	out := []ChangedFile{}
	for i := range cs.Changes {
		ch := &cs.Changes[i]
		if ch.Class != ClassTracked {
			continue
		}
		f := ChangedFile{Path: ch.Path, RelativePath: TextPath(ch.Path)}
		if b := ch.before(); b != nil {
			f.BeforeSHA256, f.BeforeMode = b.SHA256.String(), b.GitMode()
		}
		if a := ch.after(); a != nil {
			f.AfterSHA256, f.AfterMode = a.SHA256.String(), a.GitMode()
		}
		switch {
		case f.BeforeMode == "":
			f.Status = string(Added)
		case f.AfterMode == "":
			f.Status = string(Deleted)
		default:
			f.Status = string(Modified)
		}
		out = append(out, f)
	}
	return out
}

// before is the side of a tracked change that git has in the base: nil for what is not a file or a link.
func (c *Change) before() *Entry {
	if c.Before != nil && c.Before.Kind.carried() {
		return c.Before
	}
	return nil
}

func (c *Change) after() *Entry {
	if c.After != nil && c.After.Kind.carried() {
		return c.After
	}
	return nil
}
