package runtimepkg

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// readSource reads a secret from where a manifest says that it is: another variable, or a field of a JSON file that a login
// of the operator's left. Files are read below the operator's home alone: a manifest is not the one to say what else of
// the machine may be read. Errors never quote a file's content.
func readSource(ctx context.Context, s homeboy.SecretSource, userHome string, stores []SecretStore) (value string, literal bool, err error) {
	switch s.Source {
	case homeboy.SecretFromEnv:
		name := s.EnvVar
		if name == "" {
			name = s.Name
		}
		for _, st := range stores {
			if v, ok, err := st.Lookup(ctx, name); err == nil && ok {
				return v, false, nil
			}
		}
		return orDefault(s, fmt.Errorf("%s is not set either", name))
	case homeboy.SecretFromJSONFile, homeboy.SecretFromJWTExpiration:
		v, err := readField(s, userHome)
		if err != nil {
			return orDefault(s, err)
		}
		return v, false, nil
	}
	return orDefault(s, fmt.Errorf("deed cannot read a source %q", s.Source))
}

// orDefault is what the manifest itself says for a value that is nowhere: literal, and in a file that anybody may read.
func orDefault(s homeboy.SecretSource, err error) (value string, literal bool, _ error) {
	if s.Value != nil {
		return *s.Value, true, nil
	}
	return "", false, err
}

func readField(s homeboy.SecretSource, userHome string) (string, error) {
	doc, err := readCredentialFile(s.Path, userHome)
	if err != nil {
		return "", err
	}
	for _, field := range append([]string{s.Field}, s.FallbackFields...) {
		v, there := doc.At(field)
		if !there || v == nil {
			continue
		}
		text := plain(v)
		if s.Source == homeboy.SecretFromJWTExpiration && field == s.Field {
			if text, err = expiry(text); err != nil {
				continue
			}
		}
		if text != "" {
			return text, nil
		}
	}
	return "", fmt.Errorf("%s has no %s", s.Path, s.Field)
}

// plain writes a JSON value as a variable holds it.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	return ""
}

func readCredentialFile(name, userHome string) (Document, error) {
	if userHome == "" {
		return nil, errors.New("HOME is not set")
	}
	rel, ok := strings.CutPrefix(name, "~/")
	if !ok {
		var err error
		if rel, err = filepath.Rel(userHome, name); err != nil || !filepath.IsAbs(name) {
			return nil, fmt.Errorf("%s is not below the home directory", name)
		}
	}
	root, err := os.OpenRoot(userHome)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // only read
	if fi, err := root.Stat(rel); err != nil || !fi.Mode().IsRegular() || fi.Size() > maxManifest {
		return nil, fmt.Errorf("%s is not a readable file below the home directory", name)
	}
	data, err := root.ReadFile(rel)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read", name)
	}
	doc, err := ReadDocument(data)
	if err != nil {
		return nil, fmt.Errorf("%s is not a JSON object", name)
	}
	return doc, nil
}

// expiry returns the exp claim of a token. Its signature is not checked: the operator's own login wrote it.
func expiry(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("it is not a token")
	}
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return "", errors.New("it is not a token")
	}
	claims, err := ReadDocument(data)
	if err != nil {
		return "", errors.New("it is not a token")
	}
	v, _ := claims.At("exp")
	if s := plain(v); s != "" {
		return s, nil
	}
	return "", errors.New("it has no exp")
}
