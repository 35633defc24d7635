package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed static templates
var files embed.FS

// An asset is a file of the page as it is sent.
type asset struct {
	kind         string
	plain, small []byte // small: compressed
	etag         string
}

// assets are read once, when the first page is shown: other commands pay nothing for them.
var assets = sync.OnceValue(func() map[string]asset {
	out := map[string]asset{}
	list, err := fs.ReadDir(files, "static")
	if err != nil {
		panic(err) // the binary holds them
	}
	for _, f := range list {
		data, err := files.ReadFile(path.Join("static", f.Name()))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(data)
		out[f.Name()] = asset{kind: kindOf(f.Name()), plain: data, small: squeeze(data), etag: hex.EncodeToString(sum[:8])}
	}
	return out
})

func kindOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

func squeeze(data []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	_, _ = z.Write(data) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// assetURL names an asset with its content, so that it is fetched once and for ever.
func assetURL(name string) (string, error) {
	a, ok := assets()[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %q", name)
	}
	return "/static/" + a.etag + "/" + name, nil
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := assets()[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	if r.PathValue("hash") == a.etag {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache") // the page of another version of deed asks
	}
	body := a.plain
	if zips(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.small
	}
	_, _ = w.Write(body) // the client may have gone
}

// zips reports whether the client takes gzip.
func zips(r *http.Request) bool {
	for e := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(e), ";")
		if strings.EqualFold(name, "gzip") && strings.TrimSpace(q) != "q=0" {
			return true
		}
	}
	return false
}
