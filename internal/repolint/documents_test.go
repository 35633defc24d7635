package repolint

import (
	"fmt"
	"go/ast"
	"go/doc"
	"path"
	"regexp"
	"sort"
	"strings"
)

func checkPackageDocs(files []*file) []finding {
	type pkg struct {
		first *file // in the order of paths
		docs  []*file
	}
	pkgs := map[string]*pkg{}
	for _, f := range files {
		if f.ast == nil || f.isTest() || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		p := pkgs[f.dir()]
		if p == nil {
			p = &pkg{first: f}
			pkgs[f.dir()] = p
		}
		if f.ast.Doc != nil {
			p.docs = append(p.docs, f)
		}
	}
	dirs := make([]string, 0, len(pkgs))
	for dir := range pkgs {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)

	var found []finding
	for _, dir := range dirs {
		p := pkgs[dir]
		switch len(p.docs) {
		case 0:
			found = append(found, p.first.at(p.first.ast.Name, "package %s has no doc comment", p.first.ast.Name.Name))
		case 1:
			if bad := docFault(dir, p.docs[0].ast); bad != "" {
				found = append(found, p.docs[0].at(p.docs[0].ast.Doc, "%s", bad))
			}
		default:
			found = append(found, p.docs[1].at(p.docs[1].ast.Doc, "second doc comment of package %s", p.first.ast.Name.Name))
		}
	}
	return found
}

// docFault says what is wrong with the first sentence of a doc comment.
func docFault(dir string, f *ast.File) string {
	begin := "Package " + f.Name.Name
	if f.Name.Name == "main" {
		begin = "Command " + path.Base(dir)
	}
	var p doc.Package
	sentence := p.Synopsis(f.Doc.Text())
	if !strings.HasPrefix(sentence, begin+" ") {
		return fmt.Sprintf("doc comment does not begin with %q", begin)
	}
	if words := len(strings.Fields(sentence)); words < 7 {
		return fmt.Sprintf("first sentence of the doc comment has %d words; what does the package own?", words)
	}
	return ""
}

const maxLines = 800

// longFiles lists what may be longer than maxLines, with the reason.
var longFiles = map[string]string{}

var generated = regexp.MustCompile(`(?m)^(//|#|--) Code generated .* DO NOT EDIT\.$`)

func checkLength(files []*file) []finding {
	var found []finding
	for _, f := range files {
		switch path.Ext(f.path) {
		case ".go", ".sql", ".sh", ".md", ".txtar":
		default:
			continue
		}
		lines := strings.Count(f.text, "\n")
		_, listed := longFiles[f.path]
		switch {
		case listed && lines <= maxLines:
			found = append(found, finding{f.path, 0, "is listed as long and is not"})
		case !listed && lines > maxLines && !generated.MatchString(f.text):
			found = append(found, finding{f.path, 0, fmt.Sprintf("has %d lines, more than %d: split it, or list it with a reason", lines, maxLines)})
		}
	}
	return found
}

func checkReadme(files []*file) []finding {
	const limit = 120
	for _, f := range files {
		if lines := strings.Count(f.text, "\n"); f.path == "README.md" && lines > limit {
			return []finding{{f.path, 0, fmt.Sprintf("has %d lines, more than %d: move something to docs/", lines, limit)}}
		}
	}
	return nil
}

// foreign matches what belongs to the machine or the network on which the code was written. The letters in
// brackets keep the expressions from matching themselves.
var foreign = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"a path outside the repository", regexp.MustCompile(`\.\./share[d]\b`)},
	{"a path of the machine it was written on", regexp.MustCompile(`(^|[^\w.-])/(wor[k]|far[m])(/|\b[^\w-])`)},
	{"the home of the user who wrote it", regexp.MustCompile(`/(roo[t]|home/\w+|Users/\w+)/(go|src|\.cache)\b`)},
	{"the host of a package registry", regexp.MustCompile(`\b((proxy|sum)\.golang\.or[g]|registry\.npmjs\.or[g]|(deb|security)\.debian\.or[g]|pypi\.or[g]|(index|static)\.crates\.i[o])\b`)},
}

func checkWorkshop(files []*file) []finding {
	var found []finding
	for _, f := range files {
		n := 0
		for line := range strings.Lines(f.text) {
			n++
			for _, x := range foreign {
				if m := x.pattern.FindString(line); m != "" {
					found = append(found, finding{f.path, n, "names " + x.what})
				}
			}
		}
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func checkLinks(files []*file) []finding {
	exists := map[string]bool{".": true}
	for _, f := range files {
		for p := f.path; p != "."; p = path.Dir(p) {
			exists[p] = true
		}
	}
	var found []finding
	for _, f := range files {
		if path.Ext(f.path) != ".md" || strings.Contains("/"+f.path, "/testdata/") {
			continue
		}
		n, inCode := 0, false
		for line := range strings.Lines(f.text) {
			n++
			if strings.HasPrefix(line, "```") {
				inCode = !inCode
			}
			if inCode {
				continue
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if !exists[path.Join(path.Dir(f.path), target)] {
					found = append(found, finding{f.path, n, "link to " + target + ", which is not there"})
				}
			}
		}
	}
	return found
}
