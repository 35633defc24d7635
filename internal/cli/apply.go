package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/internal/bundle"
	"github.com/deedrun/deed/internal/workspace"
)

func (a *app) applyCmd() *cobra.Command {
	var (
		to    string
		dry   bool
		force bool
	)
	c := &cobra.Command{
		Use: "apply BUNDLE", Short: "Apply an accepted bundle's patch to a directory", Args: names("BUNDLE"),
		Long: `Verify the bundle, check that every file it changes is in the directory as the agent found it, then apply the
patch. Nothing is changed when anything is not as it should be.`,
		RunE: func(c *cobra.Command, args []string) error {
			return a.apply(c.Context(), args[0], to, dry, force)
		},
	}
	c.Flags().StringVar(&to, "to", ".", "directory to change")
	c.Flags().BoolVar(&dry, "dry-run", false, "check everything and change nothing")
	c.Flags().BoolVar(&force, "force", false, "apply although no gate accepted the bundle, or it is not signed by a trusted key")
	return c
}

func (a *app) apply(ctx context.Context, dir, to string, dry, force bool) error {
	keys, err := a.trusted()
	if err != nil {
		return err
	}
	rep, err := bundle.Verify(dir, bundle.VerifyOptions{TrustedKeys: keys})
	if err != nil {
		return usage(err)
	}
	if !rep.Valid {
		if !a.json {
			a.showVerification(rep)
		}
		return &exitError{code: ExitNotDone, err: errors.New("the bundle does not verify; nothing was changed")}
	}
	if !force {
		if rep.Signature.Status != bundle.SignatureValid {
			return usage(fmt.Errorf("the bundle's signature is %s; nothing was changed (trust its key with `deed key trust`, or use --force)", rep.Signature.Status))
		}
		if rep.Statement == nil || rep.Statement.Verdict != "accepted" {
			return usage(errors.New("no gate accepted this bundle; nothing was changed (--force applies it all the same)"))
		}
	}
	files, err := readChanges(dir)
	if err != nil {
		return err
	}
	target, err := filepath.EvalSymlinks(to)
	if err != nil {
		return usage(fmt.Errorf("--to: %w", err))
	}
	if err := asFound(target, files); err != nil {
		return &exitError{code: ExitNotDone, err: err}
	}
	if !dry && len(files) > 0 {
		if err := workspace.Apply(ctx, target, filepath.Join(dir, filepath.FromSlash(codebox.PathPatch))); err != nil {
			return &exitError{code: ExitNotDone, err: err}
		}
	}
	if a.json {
		paths := []string{}
		for _, f := range files {
			paths = append(paths, f.RelativePath)
		}
		return a.emit(map[string]any{"applied": !dry && len(files) > 0, "directory": target, "files": paths})
	}
	for _, f := range files {
		a.printf("%-8s %s\n", f.Status, showPath(f.RelativePath))
	}
	if dry {
		a.hint("it would apply; nothing was changed")
	}
	return nil
}

func readChanges(dir string) ([]codebox.ChangedFile, error) {
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(codebox.PathChangedFiles)))
	if err != nil {
		return nil, err
	}
	var doc codebox.ChangedFiles
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", codebox.PathChangedFiles, err)
	}
	return doc.Files, nil
}

// asFound reports every file that is not in the directory as the agent found it.
func asFound(dir string, files []codebox.ChangedFile) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the directory to change: %w", err)
	}
	defer func() { _ = root.Close() }()
	var off []string
	for _, f := range files {
		have, err := contentHash(root, f.RelativePath)
		switch {
		case err != nil:
			off = append(off, fmt.Sprintf("%s: %v", f.RelativePath, err))
		case have == f.BeforeSHA256:
		case f.BeforeSHA256 == "":
			off = append(off, f.RelativePath+" is there, and the agent found none")
		case have == "":
			off = append(off, f.RelativePath+" is not there, and the agent found one")
		default:
			off = append(off, f.RelativePath+" is not as the agent found it")
		}
	}
	if len(off) > 0 {
		return fmt.Errorf("nothing was changed:\n%s", strings.Join(off, "\n"))
	}
	return nil
}

// contentHash is the hash of a file's bytes or of a link's target; "" when there is nothing.
func contentHash(root *os.Root, path string) (string, error) {
	fi, err := root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	h := sha256.New()
	switch {
	case fi.Mode()&os.ModeSymlink != 0:
		target, err := root.Readlink(path)
		if err != nil {
			return "", err
		}
		h.Write([]byte(target))
	case fi.Mode().IsRegular():
		f, err := root.Open(path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return "", err
		}
	default:
		return "", nil // a directory in the way is the patch's to refuse
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
