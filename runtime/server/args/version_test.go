package args

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ module, revision, modified, want string }{
		{"", "", "", "(devel)"},
		{"(devel)", "", "", "(devel)"},
		{"(devel)", revision, "false", "(devel) " + revision},
		{"(devel)", revision, "true", "(devel) " + revision + " modified"},
		{"v1.2.3", revision, "false", "v1.2.3 " + revision},
		{"v0.0.0-20261201033616-0123456789ab+dirty", revision, "true", "v0.0.0-20261201033616-0123456789ab+dirty"},
		{"v1.2.3", "", "", "v1.2.3"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.module}}
		for key, value := range map[string]string{"vcs.revision": c.revision, "vcs.modified": c.modified} {
			if value != "" {
				info.Settings = append(info.Settings, debug.BuildSetting{Key: key, Value: value})
			}
		}
		if got := version(info); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
	if Version() == "" {
		t.Error("this program has no version")
	}
}
