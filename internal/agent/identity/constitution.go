package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/crashpoint"
	"github.com/deedrun/deed/internal/base/filetree"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/store"
)

// The two documents of a constitution, as an agent that drafts a revision names its artifacts.
const (
	SoulFile    = "SOUL.md"
	PurposeFile = "PURPOSE.md"
)

// MaxDocument bounds each document: both go into every brief.
const MaxDocument = 64 << 10

// KindRevision is the kind of the action that is open while a proposal waits.
const KindRevision = "constitution"

const hashPrefix = "sha256:"

// A Book reads and revises the constitutions of one home.
type Book struct {
	Store *store.Store
	Home  *home.Home
}

// A Draft is a revision. A document that is nil stays as the version that holds has it.
type Draft struct {
	AgentID       string
	Soul, Purpose []byte
	Note          string
	By            string
	TaskID        string // whose outcome it is; "": a person's
}

// Documents are the texts of one version.
type Documents struct{ Soul, Purpose string }

// A Pinned is an agent as one attempt knows it, whatever is accepted while it runs.
type Pinned struct {
	Identity     agentruntime.AgentIdentity
	Number       int64                           // of the constitution; 0: there is none
	Constitution *agentruntime.AgentConstitution // nil: there is none
	Documents    Documents
}

// Propose keeps the documents and records the revision. Nothing changes for the agent until an operator accepts it. A draft that
// waits already gives the same proposal.
func (b *Book) Propose(ctx context.Context, d Draft) (store.Proposal, bool, error) {
	a, err := b.Store.Agent(ctx, d.AgentID)
	if err != nil {
		return store.Proposal{}, false, err
	}
	var now store.Constitution
	if a.Constitution > 0 {
		if now, err = b.Store.Constitution(ctx, d.AgentID, a.Constitution); err != nil {
			return store.Proposal{}, false, err
		}
	}
	if err := d.check(a.Constitution > 0); err != nil {
		return store.Proposal{}, false, err
	}
	soul, purpose := now.SoulHash, now.PurposeHash
	if d.Soul != nil {
		soul = digest(d.Soul)
	}
	if d.Purpose != nil {
		purpose = digest(d.Purpose)
	}
	var l fault.List
	switch {
	case soul == purpose:
		l.Add("$.purpose", fault.Conflict, "is the same text as the soul", SoulFile+" and "+PurposeFile+" are two documents")
	case soul == now.SoulHash && purpose == now.PurposeHash:
		l.Add("$", fault.Conflict, fmt.Sprintf("is version %s as it holds", version(now.Number)), "propose something else")
	}
	if err := l.Err(); err != nil {
		return store.Proposal{}, false, err
	}
	for _, text := range [][]byte{d.Soul, d.Purpose} {
		if err := b.keep(text); err != nil {
			return store.Proposal{}, false, err
		}
	}
	crashpoint.Hit(crashpoint.RevisionKept)
	id := store.NewID()
	detail, err := json.Marshal(map[string]any{"proposal_id": id, "agent_id": d.AgentID, "base": now.Number, "soul_hash": soul, "purpose_hash": purpose})
	if err != nil {
		return store.Proposal{}, false, fmt.Errorf("propose: %w", err)
	}
	p, fresh, err := b.Store.Propose(ctx, store.NewProposal{
		ID: id, AgentID: d.AgentID, Base: now.Number, SoulHash: soul, PurposeHash: purpose, Note: d.Note, By: d.By, TaskID: d.TaskID,
		Ask: store.NewAction{
			Kind: KindRevision, Prompt: fmt.Sprintf("%s proposes a revision of the constitution of agent %s (see `deed agent review`, then `deed agent accept %s` or `deed agent reject %s`)", d.By, d.AgentID, id, id),
			Why: d.Note, Detail: detail,
		},
	})
	if err == nil {
		crashpoint.Hit(crashpoint.RevisionProposed)
	}
	return p, fresh, err
}

// check returns every fault of a draft. The first constitution needs both documents.
func (d Draft) check(revises bool) error {
	var l fault.List
	for _, doc := range []struct {
		at, file string
		text     []byte
	}{{"$.soul", SoulFile, d.Soul}, {"$.purpose", PurposeFile, d.Purpose}} {
		switch {
		case doc.text == nil && !revises:
			l.Add(doc.at, fault.MissingField, "is missing, and the agent has no constitution yet", "give both "+SoulFile+" and "+PurposeFile)
		case doc.text == nil:
		case len(doc.text) > MaxDocument:
			l.Add(doc.at, fault.OutOfRange, fmt.Sprintf("has %d bytes, more than %d", len(doc.text), MaxDocument), "shorten it: it goes into every brief")
		case len(bytes.TrimSpace(doc.text)) == 0:
			l.Add(doc.at, fault.MissingField, "is empty", "write "+doc.file)
		case !utf8.Valid(doc.text) || bytes.IndexByte(doc.text, 0) >= 0:
			l.Add(doc.at, fault.BadFormat, "is no text in UTF-8", "write "+doc.file+" as Markdown")
		}
	}
	if d.Soul == nil && d.Purpose == nil && revises {
		l.Add("$", fault.MissingField, "has no document", "give "+SoulFile+", "+PurposeFile+" or both")
	}
	return l.Err()
}

// Decide accepts or rejects a proposal. What is accepted must be readable here, as it was proposed.
func (b *Book) Decide(ctx context.Context, id string, accept bool, reason, by string) (store.Proposal, error) {
	p, err := b.Store.Proposal(ctx, id)
	if err != nil {
		return p, err
	}
	if accept {
		if _, err := b.documents(p.SoulHash, p.PurposeHash); err != nil {
			return p, err
		}
	}
	crashpoint.Hit(crashpoint.RevisionChecked)
	if p, err = b.Store.DecideProposal(ctx, p.ID, accept, reason, by); err == nil {
		crashpoint.Hit(crashpoint.RevisionDecided)
	}
	return p, err
}

// Holds stands for the version of a constitution that holds now.
const Holds = -1

// Pin reads an agent and one version of its constitution: a number, Holds, or 0 for none.
func (b *Book) Pin(ctx context.Context, agentID string, number int64) (*Pinned, error) {
	a, err := b.Store.Agent(ctx, agentID)
	if err != nil {
		return nil, err
	}
	p := &Pinned{Identity: a.Record, Number: number}
	if number == Holds {
		p.Number = a.Constitution
	}
	if p.Number == 0 {
		return p, nil
	}
	c, err := b.Store.Constitution(ctx, agentID, p.Number)
	if err != nil {
		return nil, err
	}
	if p.Documents, err = b.documents(c.SoulHash, c.PurposeHash); err != nil {
		return nil, err
	}
	r := Record(c)
	p.Constitution = &r
	return p, nil
}

// Record is a version as the contract has it. Its paths are relative to the home.
func Record(c store.Constitution) agentruntime.AgentConstitution {
	return agentruntime.AgentConstitution{
		Schema: agentruntime.SchemaAgentConstitution, AgentID: c.AgentID, SoulPath: relative(c.SoulHash), PurposePath: relative(c.PurposeHash),
		SoulHash: c.SoulHash, PurposeHash: c.PurposeHash, Version: version(c.Number), RevisedAt: agentruntime.At(c.RevisedAt),
	}
}

// version is a number as the contract writes versions: every revision may break with what was.
func version(number int64) string { return fmt.Sprintf("%d.0.0", number) }

// Proposed reads the documents of a proposal and of the version that it was drafted from.
func (b *Book) Proposed(ctx context.Context, p store.Proposal) (before, after Documents, err error) {
	if p.Base > 0 {
		c, err := b.Store.Constitution(ctx, p.AgentID, p.Base)
		if err != nil {
			return before, after, err
		}
		if before, err = b.documents(c.SoulHash, c.PurposeHash); err != nil {
			return before, after, err
		}
	}
	after, err = b.documents(p.SoulHash, p.PurposeHash)
	return before, after, err
}

func (b *Book) documents(soul, purpose string) (d Documents, err error) {
	if d.Soul, err = b.read(soul); err != nil {
		return d, fmt.Errorf("read %s: %w", SoulFile, err)
	}
	if d.Purpose, err = b.read(purpose); err != nil {
		return d, fmt.Errorf("read %s: %w", PurposeFile, err)
	}
	return d, nil
}

// keep writes a document by its content, durably. It is there before anything names it.
func (b *Book) keep(text []byte) error {
	if text == nil {
		return nil
	}
	_, err := b.blobs().Put(text)
	return err
}

// read returns a document when it is what its hash says.
func (b *Book) read(hash string) (string, error) {
	data, err := b.blobs().Get(hash, MaxDocument)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w (copy it from the home in which it was proposed)", err)
	}
	if err != nil {
		return "", fmt.Errorf("%w (restore it, or propose it anew)", err)
	}
	return string(data), nil
}

func (b *Book) blobs() filetree.Blobs { return filetree.Blobs(b.Home.Blobs()) }

func digest(text []byte) string { return filetree.Sum(text) }

func relative(hash string) string { return "blobs/sha256/" + strings.TrimPrefix(hash, hashPrefix) }
