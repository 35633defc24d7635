package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/isolate/redact"
)

func (a *app) artifactsCmd() *cobra.Command {
	return group("artifacts", "Verify, preflight and hand over bundles in the terms of the sandbox contract",
		a.artifactsVerifyCmd(), a.preflightCmd(), a.handoffCmd(), a.recordToolCallsCmd())
}

// bundleArg is a bundle that is named by a flag or by an argument, once.
type bundleArg struct{ bundle, artifacts string }

func (b *bundleArg) register(c *cobra.Command) {
	c.Flags().StringVar(&b.bundle, "bundle", "", "the bundle's directory")
	c.Flags().StringVar(&b.artifacts, "artifacts", "", "the same as --bundle")
	c.Args = cobra.MaximumNArgs(1)
}

func (b *bundleArg) dir(args []string) (string, error) {
	var found []string
	for _, d := range append([]string{b.bundle, b.artifacts}, args...) {
		if d != "" {
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		return "", usage(errors.New("name one bundle: by --bundle, by --artifacts or as the argument"))
	}
	return found[0], nil
}

func (a *app) artifactsVerifyCmd() *cobra.Command {
	var at bundleArg
	c := &cobra.Command{
		Use: "verify [DIR]", Short: "Check a bundle offline, as `deed verify` does",
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := at.dir(args)
			if err != nil {
				return err
			}
			keys, err := a.trusted()
			if err != nil {
				return err
			}
			return a.verify([]string{dir}, bundle.VerifyOptions{TrustedKeys: keys})
		},
	}
	at.register(c)
	return c
}

func (a *app) preflightCmd() *cobra.Command {
	var (
		at       bundleArg
		approved []string
	)
	c := &cobra.Command{
		Use: "apply-preflight [DIR] --approved-file FILE...", Short: "Say whether the whole change of a bundle is approved and sound",
		Long: `Verify the bundle and compare the approved files with its change. It is ready when every changed file is
approved and, of a bundle that deed made, the gate accepted the work; then the payload has the patch. A file is named by
its path in the workspace or by its full path.`,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := at.dir(args)
			if err != nil {
				return err
			}
			keys, err := a.trusted()
			if err != nil {
				return err
			}
			p, err := apply.Preflight(dir, approved, a.operator(), bundle.VerifyOptions{TrustedKeys: keys})
			if err != nil {
				return err
			}
			return a.showPreflight(p)
		},
	}
	at.register(c)
	c.Flags().StringArrayVar(&approved, "approved-file", nil, "an approved file; may be given several times")
	return c
}

func (a *app) showPreflight(p evidence.ApplyPreflight) error {
	switch {
	case a.json:
		if err := a.emit(p); err != nil {
			return err
		}
	case p.Ready:
		a.printf("%s\n", a.color.Green("ready"))
		for _, f := range p.Payload.ApprovedFiles {
			a.printf("  %s\n", showPath(f))
		}
	default:
		a.printf("%s\n", a.color.Red("not ready"))
		for _, v := range p.Violations {
			a.printf("  %s %s  %s\n", a.color.Red("✗"), v.Code, clean(v.Message))
		}
	}
	if !p.Ready {
		return errNotDone
	}
	return nil
}

func (a *app) handoffCmd() *cobra.Command {
	var at bundleArg
	c := &cobra.Command{
		Use: "handoff [DIR]", Short: "Verify a bundle and print the envelope for whoever receives it",
		Long: `Print the evidence artifact envelope (operation wp-codebox/handoff-artifacts): what the bundle is, what was
found when checking it, and every file by path and hash. The exit code is 1 when the bundle is not valid; a receiver
checks for himself all the same.`,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := at.dir(args)
			if err != nil {
				return err
			}
			keys, err := a.trusted()
			if err != nil {
				return err
			}
			e, err := apply.Envelope(dir, bundle.VerifyOptions{TrustedKeys: keys})
			var refusal *apply.Refusal
			if errors.As(err, &refusal) {
				return &exitError{code: ExitNotDone, err: errors.New("the bundle cannot be handed over: " + cleanLines(refusal.Reasons[0].Message))}
			}
			if err != nil {
				return usage(err)
			}
			if err := a.emit(e); err != nil {
				return err
			}
			if !e.Verification.Valid {
				return errNotDone
			}
			return nil
		},
	}
	at.register(c)
	return c
}

func (a *app) recordToolCallsCmd() *cobra.Command {
	var input, source, to string
	c := &cobra.Command{
		Use: "record-tool-calls --input-file FILE --to DIR", Short: "Check a transcript of tool calls and write it, redacted, as evidence",
		Long: `Take a wp-codebox/tool-call-transcript/v1 of a caller's own tool runner (operation
wp-codebox/record-tool-call-transcript), check it against its rules and its artifacts, and write all of it, redacted, into
a directory of evidence that is not sealed yet. The result is the transcript as it was written.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if input == "" || to == "" {
				return usage(errors.New("--input-file and --to are both needed"))
			}
			data, err := a.readFile(c.Context(), input)
			if err != nil {
				return unread(err)
			}
			if fi, err := os.Stat(to); err == nil && !fi.IsDir() {
				return usage(fmt.Errorf("--to %s is not a directory (name a directory of evidence that has no manifest yet)", to))
			} else if errors.Is(err, os.ErrNotExist) {
				return usage(fmt.Errorf("--to %s is not there (make the directory of evidence first)", to))
			}
			t, _, err := bundle.RecordToolCalls(to, bundle.ToolCallRecording{Transcript: data, Source: source, Redactor: redact.New(redact.Secrets(a.environ))})
			switch {
			case errors.Is(err, bundle.ErrSealed), errors.Is(err, bundle.ErrDuplicate):
				return usage(fmt.Errorf("--to %s: %w", to, err))
			case err != nil:
				return err
			}
			return a.emit(t)
		},
	}
	c.Flags().StringVar(&input, "input-file", "", "the transcript, - for standard input")
	c.Flags().StringVar(&source, "artifacts", "", "the directory in which the transcript's artifacts lie")
	c.Flags().StringVar(&to, "to", "", "the directory of evidence to write to")
	return c
}
