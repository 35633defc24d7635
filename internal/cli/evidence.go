package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/home"
	"github.com/deedrun/deed/internal/evidence/apply"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

func (a *app) verifyCmd() *cobra.Command {
	var (
		keyFile string
		require bool
		again   rerunFlags
	)
	c := &cobra.Command{
		Use: "verify DIR...", Short: "Check bundles offline: every file, digest, reference and the signature", Args: some("DIR"),
		Long: `Check a bundle from its directory alone. Every violation is reported with its code; exit code 0 means that
there is none. A bundle without an attestation is valid and said to be unsigned, unless --require-signature is given. A
good signature by a key that nobody vouched for reads valid_untrusted_key: give --key, or trust it with deed key trust.

With --rerun the checks of the bundle are run again: its base is rebuilt from the source that the task named, or from
--source, its patch is applied, and exit code 0 means that the same verdict on every check comes out. That runs the code of
the change and the commands of the bundle; a bundle that no trusted key signed is run again in a namespace only.`,
		RunE: func(c *cobra.Command, args []string) error {
			o := bundle.VerifyOptions{RequireSignature: require}
			if keyFile != "" {
				k, err := bundle.ReadPublicKey(keyFile)
				if err != nil {
					return usage(err)
				}
				o.Keys = append(o.Keys, k)
			} else {
				keys, err := a.trusted()
				if err != nil {
					return err
				}
				o.TrustedKeys = keys
			}
			if again.rerun {
				return a.rerun(c.Context(), args, o, again)
			}
			if again.source != "" || again.isolation != "" {
				return usage(errors.New("--source and --isolation need --rerun"))
			}
			return a.verify(args, o)
		},
	}
	again.register(c)
	c.Flags().StringVar(&keyFile, "key", "", "public key (PEM) that must have signed the bundle")
	c.Flags().BoolVar(&require, "require-signature", false, "refuse a bundle without a signature by a trusted key")
	return c
}

// verify checks each directory and shows what it found. As JSON one bundle is one record, several are a list. Of several, one that
// cannot be read at all is reported like an invalid one, so that the others are checked all the same.
func (a *app) verify(dirs []string, o bundle.VerifyOptions) error {
	reps := make([]bundle.Verification, len(dirs))
	valid := true
	for i, dir := range dirs {
		var err error
		reps[i], err = apply.Verify(dir, o)
		if err != nil && len(dirs) == 1 {
			return usage(err)
		}
		if err != nil {
			reps[i].Violations = append(reps[i].Violations, evidence.Violation{Code: bundle.CodeUnreadable, Path: dir, Message: err.Error()})
		}
		valid = valid && reps[i].Valid
		if !a.json {
			a.showVerification(reps[i])
		}
	}
	if a.json {
		var doc any = map[string]any{"bundles": reps}
		if len(reps) == 1 {
			doc = reps[0]
		}
		if err := a.emit(doc); err != nil {
			return err
		}
	}
	if !valid {
		return errNotDone
	}
	return nil
}

// trusted lists the keys that this installation trusts: its own and those that were added. A machine without a home
// trusts none.
func (a *app) trusted() ([]bundle.PublicKey, error) {
	root, err := home.Resolve(a.homeFlag, a.getenv)
	if err != nil {
		return nil, nil //nolint:nilerr // a verifier needs no home
	}
	dir := home.At(root).Keys()
	if _, err := os.Stat(dir); err != nil {
		return nil, nil //nolint:nilerr // as above
	}
	return bundle.TrustedKeys(dir)
}

func (a *app) showVerification(rep bundle.Verification) {
	if rep.Valid {
		a.printf("%s %s\n", a.color.Green("valid"), rep.BundleDirectory)
	} else {
		a.printf("%s %s: %s\n", a.color.Red("invalid"), rep.BundleDirectory, count(len(rep.Violations), "violation"))
	}
	for _, v := range rep.Violations {
		a.printf("  %s %s  %s\n", a.color.Red("✗"), v.Code, clean(v.Message))
	}
	if rep.Manifest != nil {
		a.field("bundle", clean(rep.Manifest.ID))
		a.field("files", fmt.Sprint(len(rep.Manifest.Files)))
	}
	if rep.Valid && !rep.ContentAddressed {
		a.field("addressed", "no: the id depends on the list of files, not on the change")
	}
	sig := rep.Signature.Status
	if rep.Signature.KeyID != "" {
		sig += " by " + rep.Signature.KeyID
	}
	a.field("signature", sig)
	if s := rep.Statement; s != nil {
		verdict := clean(s.Verdict)
		if s.Grade != "" {
			verdict += ", " + clean(s.Grade)
		}
		a.field("verdict", verdict)
		a.field("task", clean(s.TaskID))
		a.field("contained", clean(s.Containment))
	}
}

// count says "1 fault" or "2 faults".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (a *app) keyCmd() *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Print this installation's public key", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := a.makeHome()
			if err != nil {
				return err
			}
			own, err := bundle.LoadOrCreateKey(h.Keys())
			if err != nil {
				return err
			}
			k := own.Public()
			if a.json {
				return a.emit(map[string]string{"key_id": k.ID, "public_key": string(k.PEM())})
			}
			a.printf("%s", k.PEM())
			a.hint("key id %s", k.ID)
			return nil
		},
	}
	trust := &cobra.Command{
		Use: "trust FILE", Short: "Trust bundles that this public key signed", Args: names("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			k, err := bundle.ReadPublicKey(args[0])
			if err != nil {
				return usage(err)
			}
			h, err := a.makeHome()
			if err != nil {
				return err
			}
			if err := bundle.Trust(h.Keys(), k); err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"key_id": k.ID})
			}
			a.printf("trusted %s\n", k.ID)
			return nil
		},
	}
	return group("key", "Show the signing key, trust others", show, trust)
}
