package args

import (
	"runtime/debug"
	"strings"
)

// Version is what this program was built from: the module's version, and the
// revision where that does not name it.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return development
	}
	return version(info)
}

// development is the go command's word for a module that was built where it lies.
const development = "(devel)"

// shortRevision is as much of a revision as the go command puts into a version.
const shortRevision = 12

func version(info *debug.BuildInfo) string {
	text := info.Main.Version
	if text == "" {
		text = development
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = " modified"
		}
	}
	if revision == "" || strings.Contains(text, revision[:min(len(revision), shortRevision)]) {
		return text // the version of a revision without a tag names it, and "+dirty" says the other
	}
	return text + " " + revision + modified
}
