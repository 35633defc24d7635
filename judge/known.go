package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
)

// A knownFault is a wrong verdict that has a reason. The list stays true: one that is right now fails the test.
type knownFault struct {
	Case   string   `yaml:"case"`  // PROJECT/CASE
	Forms  []string `yaml:"forms"` // that it is wrong under
	Reason string   `yaml:"reason"`
}

type knownFaults []knownFault

func loadKnown(file string) (knownFaults, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the known faults: %w", err)
	}
	var out knownFaults
	if err := yaml.UnmarshalWithOptions(text, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i, k := range out {
		if k.Case == "" || len(k.Forms) == 0 || k.Reason == "" {
			return nil, fmt.Errorf("%s: entry %d has no case, no forms or no reason: give all three", file, i+1)
		}
	}
	return out, nil
}

// reason returns why a trial is known to be wrong.
func (k knownFaults) reason(o outcome) (string, bool) {
	for _, f := range k {
		for _, form := range f.Forms {
			if f.Case+":"+form == o.Trial {
				return f.Reason, true
			}
		}
	}
	return "", false
}

func (k knownFaults) remark(o outcome) string {
	if why, ok := k.reason(o); ok {
		return ": known: " + why
	}
	return ""
}

// surprises are what the list does not say: a wrong verdict that is not in it, and one in it that is right now.
func (k knownFaults) surprises(all []outcome) []string {
	var out []string
	for _, o := range all {
		why, known := k.reason(o)
		switch {
		case wrong(o.Score) && !known:
			out = append(out, fmt.Sprintf("%s: %s: labelled %s, %s %v %s", o.Trial, o.Score, o.Label, o.Verdict, o.Reasons, o.Error))
		case !wrong(o.Score) && known:
			out = append(out, fmt.Sprintf("%s is right and is listed as wrong (%s): take it out of known.yaml", o.Trial, why))
		}
	}
	return out
}

// strangers are the entries of the list that name no trial of the corpus.
func (k knownFaults) strangers(all []trial) []string {
	ids := make([]string, len(all))
	for i, t := range all {
		ids[i] = t.ID()
	}
	var out []string
	for _, f := range k {
		for _, form := range f.Forms {
			if !slices.Contains(ids, f.Case+":"+form) {
				out = append(out, f.Case+":"+form)
			}
		}
	}
	return out
}
