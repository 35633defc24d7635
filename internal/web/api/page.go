package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/httperror"
)

// A Page is a part of a list. NextCursor, where there is one, is the parameter cursor of the next part.
type Page[T any] struct {
	Schema     string `json:"schema"`
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// cursor is what a client gets as an opaque text. It carries no right, so that it is checked and not signed: it belongs to one list
// with one set of filters, and says where the next part begins.
type cursor struct {
	Version int    `json:"v"`
	List    string `json:"l"`
	Filter  string `json:"f"`
	At      string `json:"a"`
}

const cursorVersion = 1

// stale is what a client gets for a cursor that cannot be used any more, or never could.
func stale(why string) error {
	return httperror.New(http.StatusBadRequest, "stale_cursor", why+"; begin again without cursor")
}

// filterDigest names the filters of a list, so that a cursor is not used with others.
func filterDigest(filters ...any) string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(filters) // of texts, numbers and lists of texts
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (c cursor) String() string {
	c.Version = cursorVersion
	text, err := json.Marshal(c)
	if err != nil {
		return "" // four texts
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// readCursor returns where a part of a list begins; "" is its beginning.
func readCursor(text, list, filter string) (string, error) {
	if text == "" {
		return "", nil
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(text)
	var c cursor
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	switch {
	case err != nil || c.At == "":
		return "", stale("this is not a cursor of this API")
	case c.Version != cursorVersion:
		return "", stale("the cursor is of another version of deed")
	case c.List != list:
		return "", stale(fmt.Sprintf("the cursor is of the list %q", clip(c.List)))
	case c.Filter != filter:
		return "", stale("the cursor is of the same list with other filters")
	}
	return c.At, nil
}

// pageOf cuts a list that was read with one entry more than asked for.
func pageOf[S, T any](schema, list, filter string, limit int, found []S, key func(S) string, doc func(S) T) Page[T] {
	p := Page[T]{Schema: schema, Items: []T{}}
	if len(found) > limit {
		found = found[:limit]
		p.NextCursor = cursor{List: list, Filter: filter, At: key(found[limit-1])}.String()
	}
	for _, s := range found {
		p.Items = append(p.Items, doc(s))
	}
	return p
}

// gone turns a position that is not there any more into a stale cursor.
func gone(at string, err error) error {
	if at != "" && (errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrAmbiguous)) {
		return stale("what the cursor points at is gone")
	}
	return err
}
