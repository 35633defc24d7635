package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/agent/identity"
	"github.com/deedrun/deed/internal/store"
)

// proposalDoc is a revision as --json shows it.
type proposalDoc struct {
	Schema      string `json:"schema"`
	ProposalID  string `json:"proposal_id"`
	AgentID     string `json:"agent_id"`
	State       string `json:"state"`
	Base        int64  `json:"base"`              // the number of the version that it was drafted from
	Version     string `json:"version,omitempty"` // that it became
	SoulHash    string `json:"soul_hash"`
	PurposeHash string `json:"purpose_hash"`
	Note        string `json:"note,omitempty"`
	By          string `json:"proposed_by"`
	TaskID      string `json:"task_id,omitempty"`
	ActionID    string `json:"action_id"`
	Reason      string `json:"reason,omitempty"`
	DecidedBy   string `json:"decided_by,omitempty"`
	CreatedAt   string `json:"created_at"`
	DecidedAt   string `json:"decided_at,omitempty"`
	Diff        string `json:"diff,omitempty"`
}

func newProposalDoc(p store.Proposal) proposalDoc {
	d := proposalDoc{
		Schema: "deed/constitution.proposal/v1", ProposalID: p.ID, AgentID: p.AgentID, State: p.State, Base: p.Base, SoulHash: p.SoulHash, PurposeHash: p.PurposeHash,
		Note: p.Note, By: p.By, TaskID: p.TaskID, ActionID: p.ActionID, Reason: p.Reason, DecidedBy: p.DecidedBy, CreatedAt: string(agentruntime.At(p.CreatedAt)),
	}
	if p.Number > 0 {
		d.Version = fmt.Sprintf("%d.0.0", p.Number)
	}
	if !p.DecidedAt.IsZero() {
		d.DecidedAt = string(agentruntime.At(p.DecidedAt))
	}
	return d
}

func (a *app) agentProposeCmd() *cobra.Command {
	var soul, purpose, task, note string
	c := &cobra.Command{
		Use: "propose NAME [--soul FILE] [--purpose FILE] [--from-task TASK]", Short: "Propose a revision of an agent's constitution", Args: names("NAME"),
		Long: `Propose SOUL.md and PURPOSE.md of an agent, or a revision of one of them. Nothing changes until an operator accepts it.

An agent drafts a revision as a task that leaves artifacts with these names: --from-task takes them from the evidence of the task,
when its work was accepted.`,
		Example: `  deed agent propose loom --soul SOUL.md --purpose PURPOSE.md --note 'the first'
  deed agent propose loom --from-task 019ad2c4`,
		RunE: func(c *cobra.Command, args []string) error {
			g, err := a.oneAgent(c.Context(), args[0])
			if err != nil {
				return err
			}
			d, err := a.draft(c.Context(), soul, purpose, task)
			if err != nil {
				return err
			}
			d.AgentID, d.Note = g.Record.AgentID, note
			p, fresh, err := a.book().Propose(c.Context(), d)
			if err != nil {
				return identityFault(err)
			}
			if a.json {
				return a.emit(newProposalDoc(p))
			}
			a.printf("%s\n", p.ID)
			if !fresh {
				a.hint("it was proposed before, and waits")
			}
			a.hint("`deed agent review %s` shows it; only `deed agent accept` makes it hold", clean(p.AgentID))
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&soul, "soul", "", "`FILE` with SOUL.md: who the agent is, its values, how it speaks")
	fl.StringVar(&purpose, "purpose", "", "`FILE` with PURPOSE.md: its goals, and how it measures itself")
	fl.StringVar(&task, "from-task", "", "take the artifacts SOUL.md and PURPOSE.md of this `TASK`")
	fl.StringVar(&note, "note", "", "`TEXT` for whoever decides")
	return c
}

// draft reads a revision from files or from a task.
func (a *app) draft(ctx context.Context, soul, purpose, task string) (identity.Draft, error) {
	d := identity.Draft{By: a.operator()}
	switch {
	case task != "" && (soul != "" || purpose != ""):
		return d, usage(errors.New("--from-task and --soul or --purpose exclude each other (give one)"))
	case task != "":
		keys, err := a.trusted()
		if err != nil {
			return d, err
		}
		d, err := a.book().FromTask(ctx, task, keys)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) || errors.Is(err, identity.ErrNoDraft) {
			err = usage(err)
		}
		return d, err
	case soul == "" && purpose == "":
		return d, usage(errors.New("there is nothing to propose (give --soul, --purpose or --from-task)"))
	}
	for _, doc := range []struct {
		file string
		to   *[]byte
	}{{soul, &d.Soul}, {purpose, &d.Purpose}} {
		if doc.file == "" {
			continue
		}
		data, err := a.readDocument(ctx, doc.file, identity.MaxDocument)
		if err != nil {
			return d, unread(err)
		}
		*doc.to = append([]byte{}, data...) // an empty file is a fault of it, and not its absence
	}
	return d, nil
}

func (a *app) agentReviewCmd() *cobra.Command {
	return &cobra.Command{
		Use: "review [NAME|PROPOSAL]", Short: "Show the revisions that wait, and what they change", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := a.view(c.Context()); err != nil {
				return err
			}
			list, err := a.reviewed(c.Context(), args)
			if err != nil {
				return err
			}
			docs := []proposalDoc{}
			for _, p := range list {
				before, after, err := a.book().Proposed(c.Context(), p)
				if err != nil {
					return err
				}
				diff, err := a.book().Diff(c.Context(), before, after)
				if err != nil {
					return err
				}
				d := newProposalDoc(p)
				d.Diff = string(diff)
				docs = append(docs, d)
			}
			if a.json {
				return a.emit(map[string]any{"schema": "deed/constitution.review/v1", "proposals": docs})
			}
			if len(docs) == 0 {
				a.hint("no revision waits")
			}
			for _, d := range docs {
				a.printf("proposal  %s\nagent     %s\nby        %s\nstate     %s\n", d.ProposalID, clean(d.AgentID), clean(d.By), d.State)
				if d.Note != "" {
					a.printf("note      %s\n", clean(d.Note))
				}
				a.printf("\n%s\n", cleanLines(d.Diff))
			}
			return nil
		},
	}
}

// reviewed are the proposals that were asked for: all that wait, those of one agent that wait, or one.
func (a *app) reviewed(ctx context.Context, args []string) ([]store.Proposal, error) {
	if len(args) == 0 {
		return a.st.Proposals(ctx, "", 1000)
	}
	if _, err := a.st.Agent(ctx, args[0]); !errors.Is(err, store.ErrNotFound) { // one whose record cannot be read is one, too
		return a.waiting(ctx, args[0])
	}
	p, err := a.oneProposal(ctx, args[0])
	return []store.Proposal{p}, err
}

// waiting are the undecided proposals of one agent.
func (a *app) waiting(ctx context.Context, agentID string) ([]store.Proposal, error) {
	list, err := a.st.Proposals(ctx, "", 1000)
	return slices.DeleteFunc(list, func(p store.Proposal) bool { return p.AgentID != agentID }), err
}

func (a *app) oneProposal(ctx context.Context, id string) (store.Proposal, error) {
	p, err := a.st.Proposal(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous) {
		return p, usage(fmt.Errorf("no agent and no proposal %q (`deed agent review` shows what waits): %w", id, err))
	}
	return p, err
}

func (a *app) agentAcceptCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "accept PROPOSAL", Short: "Let a revision hold from the next attempt on", Args: names("PROPOSAL"),
		Long: `Accept a revision. Attempts that start from now on work by it; those that run keep the version that they started with.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.decideProposal(c.Context(), args[0], true, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the record")
	return c
}

func (a *app) agentRejectCmd() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "reject PROPOSAL --reason TEXT", Short: "Refuse a revision", Args: names("PROPOSAL"),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return usage(errors.New("--reason is missing (say why, for whoever drafts the next one)"))
			}
			return a.decideProposal(c.Context(), args[0], false, reason)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "`TEXT` for the record")
	return c
}

// decideRevision is approve and deny for the action of a proposal.
func (a *app) decideRevision(ctx context.Context, x store.Action, d *action.Decision) error {
	var of struct {
		ProposalID string `json:"proposal_id"`
	}
	if err := json.Unmarshal(x.Detail, &of); err != nil {
		return fmt.Errorf("action %s: %w", x.ID, err)
	}
	if d == nil {
		return usage(fmt.Errorf("action %s is a revision of a constitution (approve or deny it, as `deed agent accept` and `deed agent reject` do)", x.ID))
	}
	return a.decideProposal(ctx, of.ProposalID, d.Decision == deed.RuleAllow, d.Note)
}

func (a *app) decideProposal(ctx context.Context, id string, accept bool, reason string) error {
	if err := a.view(ctx); err != nil {
		return err
	}
	p, err := a.oneProposal(ctx, id)
	if err != nil {
		return err
	}
	if p, err = a.book().Decide(ctx, p.ID, accept, reason, a.operator()); err != nil {
		return identityFault(err)
	}
	d := newProposalDoc(p)
	switch {
	case a.json:
		return a.emit(d)
	case accept:
		a.hint("version %s of agent %s holds", d.Version, clean(p.AgentID))
	default:
		a.hint("the revision is rejected")
	}
	return nil
}
