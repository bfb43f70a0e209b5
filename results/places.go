package results

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// place is a folder of this machine and the name it has in a record.
type place struct{ folder, name string }

type placeList []place

// Portable writes the folders of this machine in s by name: the checkout of
// this module around the working directory as $TREE, caches as $CACHE, the
// folder for temporary files as $TMP, the home folder as $HOME. Records are
// read on other machines, where the folders mean nothing.
func Portable(s string) string { return places().portable(s) }

func places() placeList {
	var p placeList
	add := func(name, folder string) {
		if folder == "" || !filepath.IsAbs(folder) {
			return
		}
		for _, f := range []string{folder, resolved(folder)} {
			if f = filepath.Clean(f); f != string(filepath.Separator) {
				p = append(p, place{f, name})
			}
		}
	}
	add("$TREE", moduleRoot("."))
	add("$CACHE", os.Getenv("GOCACHE"))
	add("$CACHE", os.Getenv("GOMODCACHE"))
	if cache, err := os.UserCacheDir(); err == nil {
		add("$CACHE", cache)
	}
	add("$TMP", os.Getenv("GOTMPDIR"))
	add("$TMP", os.TempDir())
	if home, err := os.UserHomeDir(); err == nil {
		add("$HOME", home)
	}
	// The longest first: a cache lies below the home folder.
	slices.SortStableFunc(p, func(a, b place) int { return len(b.folder) - len(a.folder) })
	return p
}

// resolved is the folder with links followed, as a program may print it.
func resolved(folder string) string {
	if r, err := filepath.EvalSymlinks(folder); err == nil {
		return r
	}
	return folder
}

func (p placeList) portable(s string) string {
	for _, place := range p {
		s = replacePath(s, place.folder, place.name)
	}
	return s
}

// replacePath replaces a folder where it stands as a path or as the beginning
// of one: not inside another name or behind another folder. "ipc:///tmp/x" has
// a path behind two slashes.
func replacePath(s, folder, name string) string {
	var b strings.Builder
	for {
		at := strings.Index(s, folder)
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := at + len(folder)
		begins := at == 0 || !pathByte(s[at-1]) || strings.HasSuffix(s[:at], "://")
		ends := end == len(s) || s[end] == '/' || !pathByte(s[end])
		b.WriteString(s[:at])
		if begins && ends {
			b.WriteString(name)
		} else {
			b.WriteString(folder)
		}
		s = s[end:]
	}
}

// pathByte reports whether a path goes on with b.
func pathByte(b byte) bool {
	return b == '/' || b == '.' || b == '_' || b == '-' || b == '$' || b == '}' ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}

// absolute matches an absolute path in an argument: at its beginning, or behind
// something that is no part of a path.
var absolute = regexp.MustCompile(`(://|^|[\s=:,;@"'(\[])(/[^\s,;:"')\]]*)`)

// argument is a command-line argument with every absolute path replaced.
func (p placeList) argument(s string) string {
	return absolute.ReplaceAllStringFunc(p.portable(s), func(match string) string {
		m := absolute.FindStringSubmatch(match)
		before, path := m[1], m[2]
		if strings.HasPrefix(path, "//") { // an address: https://host/path
			return match
		}
		return before + strings.TrimSuffix("$ELSEWHERE/"+strings.TrimPrefix(filepath.Base(path), "/"), "/")
	})
}

// armPlan is an arm as asked for, without folders of this machine.
func (p placeList) armPlan(a ArmPlan) ArmPlan {
	a.Spec, a.Options = p.argument(a.Spec), p.options(a.Options)
	return a
}

func (p placeList) options(options map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range options {
		out[k] = p.argument(v)
	}
	return out
}

// outcome is what a run ends with, without folders of this machine. In messages
// only known ones are replaced: what else begins with a slash may be data.
func (p placeList) outcome(out Outcome) Outcome {
	arms := map[string]Arm{}
	for name, a := range out.Arms {
		a.Spec, a.Options = p.argument(a.Spec), p.options(a.Options)
		arms[name] = a
	}
	out.Arms = arms
	if out.Verdict.Failure != nil {
		f := *out.Verdict.Failure
		f.Message = p.portable(f.Message)
		out.Verdict.Failure = &f
	}
	warnings := slices.Clone(out.Verdict.Warnings)
	for i, w := range warnings {
		warnings[i] = p.portable(w)
	}
	out.Verdict.Warnings = warnings
	return out
}
