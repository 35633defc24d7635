package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
)

func (a *app) schemaCmd() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the schemas of every record", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ids := schema.IDs()
			if a.json {
				return a.emit(map[string]any{"schemas": ids})
			}
			for _, id := range ids {
				a.printf("%s\n", id)
			}
			return nil
		},
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Print a JSON Schema (2020-12)", Args: names("ID"),
		ValidArgsFunction: schemaIDs,
		RunE: func(_ *cobra.Command, args []string) error {
			text, ok := schema.Get(args[0])
			if !ok {
				return unknownSchema(args[0])
			}
			_, err := a.Out.Write(text)
			return err
		},
	}
	validate := &cobra.Command{
		Use: "validate ID FILE", Short: "Check a record: every fault with its path", Args: names("ID", "FILE"),
		ValidArgsFunction: schemaIDs,
		RunE: func(c *cobra.Command, args []string) error {
			if _, ok := schema.Get(args[0]); !ok {
				return unknownSchema(args[0])
			}
			data, err := a.readFile(c.Context(), args[1])
			if err != nil {
				return unread(err)
			}
			return a.showFaults(args[0], schema.Validate(args[0], data))
		},
	}
	var lang string
	types := &cobra.Command{
		Use: "types", Short: "Print types for another language, made from the same schemas", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if lang != "ts" {
				return usage(fmt.Errorf("--lang %q is unknown; there is: ts", lang))
			}
			text, err := schema.TypeScript()
			if err != nil {
				return err
			}
			if a.json {
				return a.emit(map[string]string{"lang": lang, "text": string(text)})
			}
			_, err = a.Out.Write(text)
			return err
		},
	}
	types.Flags().StringVar(&lang, "lang", "ts", "language")
	return group("schema", "List, print and check against the record schemas", list, show, validate, types)
}

// unread is the error of a document that could not be read: the caller's, unless a signal came first.
func unread(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return usage(err)
}

func unknownSchema(id string) error {
	return usage(fmt.Errorf("unknown schema %q (`deed schema list` shows what there is)", id))
}

func schemaIDs(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return schema.IDs(), cobra.ShellCompDirectiveDefault
}

// maxDocument bounds what a command reads into memory.
const maxDocument = 64 << 20

// readFile reads a document from a file, or from standard input for "-".
func (a *app) readFile(ctx context.Context, name string) ([]byte, error) {
	return a.readDocument(ctx, name, maxDocument)
}

// readDocument is readFile for a document with a size limit of its own. It ends with ctx: a signal takes effect also
// while it waits for input. The reader is left behind then, and ends with the process.
func (a *app) readDocument(ctx context.Context, name string, most int64) ([]byte, error) {
	type document struct {
		data []byte
		err  error
	}
	read := make(chan document, 1)
	go func() {
		data, err := a.slurp(name, most)
		read <- document{data, err}
	}()
	select {
	case d := <-read:
		return d.data, d.err
	case <-ctx.Done():
		return nil, fmt.Errorf("read %s: %w", name, ctx.Err())
	}
}

func (a *app) slurp(name string, most int64) ([]byte, error) {
	r := a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, unreadable(name, err)
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s is larger than %d bytes", shownInput(name), most)
	}
	return data, nil
}

// unreadable says once which file it is, and why.
func unreadable(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("cannot read %s: %w", shownInput(name), err)
}

func shownInput(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// showFaults prints the outcome of a validation: valid, or every fault. Faults are findings, so they end with
// code 1.
func (a *app) showFaults(id string, err error) error {
	faults := fault.Of(err)
	if err != nil && faults == nil {
		return err
	}
	if faults == nil {
		faults = fault.Faults{}
	}
	if a.json {
		if err := a.emit(map[string]any{"schema": id, "valid": len(faults) == 0, "faults": faults}); err != nil {
			return err
		}
	} else if len(faults) == 0 {
		a.printf("%s %s\n", a.color.Green("valid"), id)
	} else {
		a.printf("%s %s: %s\n", a.color.Red("invalid"), id, count(len(faults), "fault"))
		for _, f := range faults {
			a.printf("  %s %s\n", a.color.Red("✗"), clean(f.String()))
		}
	}
	if len(faults) > 0 {
		return errNotDone
	}
	return nil
}
