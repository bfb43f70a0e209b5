package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fanoutbench/fanoutbench/results"
)

func swap(m Machine) Finding {
	f := Finding{
		Name: "swap",
		Why:  "what was swapped out is read back from a disk when it is touched, in the timed part too",
		Mend: "end what takes the memory, then swapoff -a",
	}
	v, ok := m.facts.Conditions[results.ConditionSwap]
	n, err := strconv.ParseInt(v, 10, 64)
	if !ok || err != nil {
		return told(f, "", false)
	}
	return told(f, fmt.Sprintf("%d KiB in use", n), n == 0)
}

func pages(m Machine) Finding {
	v := m.facts.Conditions[results.ConditionPages]
	return told(Finding{
		Name: "transparent huge pages",
		Why:  "with always the kernel joins pages of a heap that grows, at times of its own, and memory is not what it seems",
		Mend: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
	}, v, v == "madvise" || v == "never")
}

// remote are types of file systems that are on another machine, or in a process.
var remote = map[string]bool{
	"nfs": true, "nfs4": true, "cifs": true, "smb3": true, "smbfs": true, "9p": true, "virtiofs": true, "ceph": true, "afs": true,
	"lustre": true, "glusterfs": true, "gfs2": true, "ocfs2": true, "beegfs": true, "vboxsf": true, "davfs": true,
}

func tempType(m Machine) Finding {
	f := Finding{
		Name: "temporary folder",
		Why:  "sockets and bulk files lie there; on a network the files take unforeseen times, and some such systems have no sockets",
		Mend: "set TMPDIR to a folder on a local disk or in memory, with a short path",
	}
	kind := mountType(m.Root, m.Temp)
	if kind == "" {
		return told(f, "", false)
	}
	return told(f, m.Temp+" is on "+kind, !remote[kind] && !strings.HasPrefix(kind, "fuse"))
}

// mountType is the type of the file system that a folder is on, "" if it cannot
// be said.
func mountType(root, folder string) string {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	if err != nil || folder == "" {
		return ""
	}
	kind, longest := "", -1
	for line := range strings.Lines(string(b)) {
		before, after, ok := strings.Cut(line, " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(source) == 0 {
			continue
		}
		point := unescaped(fields[4])
		if below(folder, point) && len(point) >= longest { // a later mount covers one of the same place
			kind, longest = source[0], len(point)
		}
	}
	return kind
}

func below(folder, point string) bool {
	return point == "/" || folder == point || strings.HasPrefix(folder, point+"/")
}

// unescaped undoes the octal escapes of blanks and backslashes in mountinfo.
func unescaped(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// resolved is an absolute path without links, for a look among mounts.
func resolved(folder string) (string, error) {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// roomWanted is more than both arms' bulk files of the largest default cell take.
const roomWanted = 256 << 20

func tempRoom(m Machine) Finding {
	f := Finding{
		Name: "room for temporary files",
		Why:  "streams and delivered rows are files; a disk that is full ends the run",
		Mend: "make room, or set TMPDIR to a folder on another disk",
	}
	free, err := m.Free(m.Temp)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return told(f, fmt.Sprintf("%s is not there", m.Temp), false)
	case err != nil:
		return told(f, "", false)
	}
	return told(f, fmt.Sprintf("%d MiB", free>>20), free >= roomWanted)
}

// Descriptors of one process: a few of its own, and of the controller a listener
// and a connection for each HTTP worker.
const (
	filesWanted    = 256
	filesOwn       = 32
	filesPerWorker = 2
)

func files(m Machine) Finding {
	f := Finding{
		Name: "open files",
		Why:  fmt.Sprintf("a controller needs about %d descriptors and %d for each HTTP worker; without them the run ends", filesOwn, filesPerWorker),
		Mend: "ulimit -n 4096, the hard limit too (ulimit -Hn; LimitNOFILE in a unit of systemd)",
	}
	n, err := m.Files()
	if err != nil {
		return told(f, "", false)
	}
	if n >= 1<<31 {
		return told(f, "no limit", true)
	}
	return told(f, fmt.Sprintf("%d for a process, enough for %d HTTP workers", n, max(0, int64(n)-filesOwn)/filesPerWorker), n >= filesWanted)
}

// runtimeSettings are the variables that change how Go programs run.
var runtimeSettings = []string{"GOGC", "GOMEMLIMIT", "GODEBUG", "GOMAXPROCS"}

func settings(m Machine) Finding {
	f := Finding{
		Name: "Go runtime settings",
		Why:  "they change when garbage is collected, or more, in every process of a run: figures do not compare with others",
		Mend: "unset GOGC GOMEMLIMIT GODEBUG GOMAXPROCS",
	}
	var set []string
	for _, name := range runtimeSettings {
		if v, ok := m.Env(name); ok {
			set = append(set, name+"="+v)
		}
	}
	if len(set) == 0 {
		return told(f, "none is set", true)
	}
	return told(f, strings.Join(set, " "), false)
}

func toolchain(m Machine) Finding {
	return told(Finding{
		Name: "Go version",
		Why:  "figures of two Go versions do not compare, and nobody else has an unreleased one",
		Mend: "build with a released Go",
	}, m.Go, strings.HasPrefix(m.Go, "go1.") && !strings.ContainsAny(m.Go, " -"))
}
