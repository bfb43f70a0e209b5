package batchrun

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"

	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/form"
)

// Run is a run folder while it is written. It is not for concurrent use.
type Run struct {
	dir     string
	plan    Plan
	planSum string
	raw     *appended
	trials  *appended
	written writer
	next    int   // trials that are there
	broken  error // the failed write after which nothing more is written
	closed  bool
}

// Create makes the run folder dir with its parents, plan.json, an empty raw.jsonl
// and trials.jsonl, logs/, hist/ and schedules/, which the caller fills with the
// files that the plan names. A dir that exists is an error, whatever is in it.
func Create(dir string, plan Plan) (*Run, error) {
	plan.Reference.Spec, plan.Candidate.Spec = results.Portable(plan.Reference.Spec), results.Portable(plan.Candidate.Spec)
	plan.Reference.Options, plan.Candidate.Options = portable(plan.Reference.Options), portable(plan.Candidate.Options)
	plan, b, err := settle[Plan](plan, encodeFile)
	if err != nil {
		return nil, fmt.Errorf("batchrun: plan: %w", err)
	}
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("batchrun: %w", err)
	}
	if len(b) > MaxPlan {
		return nil, fmt.Errorf("batchrun: %s would have %d bytes, want at most %d", PlanFile, len(b), MaxPlan)
	}
	if err := os.MkdirAll(filepath.Dir(filepath.Clean(dir)), 0o755); err != nil {
		return nil, fmt.Errorf("batchrun: the folder above the run: %w", err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("batchrun: run folder %s exists, want a new one: a run is never overwritten", dir)
		}
		return nil, fmt.Errorf("batchrun: run folder: %w", err)
	}
	r := &Run{dir: dir, plan: plan, planSum: form.Sum(b), written: writer{}}
	if err := r.begin(b); err != nil {
		return nil, errors.Join(fmt.Errorf("batchrun: begin run %s: %w", dir, err), os.RemoveAll(dir))
	}
	return r, nil
}

func (r *Run) begin(plan []byte) (err error) {
	for _, name := range []string{LogFolder, HistFolder, ScheduleFolder} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := form.Replace(filepath.Join(r.dir, PlanFile), plan); err != nil {
		return err
	}
	if r.raw, err = create(r.dir, RawFile, MaxRaw); err != nil {
		return err
	}
	if r.trials, err = create(r.dir, TrialsFile, MaxTrialsFile); err != nil {
		return errors.Join(err, r.raw.file.Close())
	}
	return nil
}

// Dir is the run folder.
func (r *Run) Dir() string { return r.dir }

// Plan is the plan as it was written.
func (r *Run) Plan() Plan { return r.plan }

// LogPath is the file in logs/ for the server of an arm, or whatever else has this
// name.
func (r *Run) LogPath(name string) string { return filepath.Join(r.dir, LogFolder, name+".log") }

// Append writes the next trial of the plan: its requests to raw.jsonl, and then one
// line to trials.jsonl. Times of requests are rounded to a tenth of a microsecond. What
// the requests say of the trial (requests, failed, unsent, lateness) is filled in. A trial out of order or with an impossible value
// is refused and nothing is written. After a failed or short write both files are
// cut back to their last whole trial, and every later call returns that error.
func (r *Run) Append(t Trial, requests []Request) error {
	if r.broken != nil {
		return r.broken
	}
	if r.closed {
		return fmt.Errorf("batchrun: append to %s: the run is finished", r.dir)
	}
	written := maps.Clone(r.written)
	requests = written.compact(requests)
	t.count(requests)
	t, line, err := settle[Trial](t, encodeLine)
	if err != nil {
		return fmt.Errorf("batchrun: append to %s: trial: %w", r.dir, err)
	}
	if err := r.plan.check(r.next, t, requests); err != nil {
		return fmt.Errorf("batchrun: append to %s: %w", r.dir, err)
	}
	lines, err := requestLines(requests)
	if err != nil {
		return fmt.Errorf("batchrun: append to %s: trial %d (%s): %w", r.dir, r.next+1, t.Slot(), err)
	}
	if err := errors.Join(r.raw.room(lines), r.trials.room(line)); err != nil {
		return fmt.Errorf("batchrun: append to %s: %w", r.dir, err)
	}
	err = r.raw.write(lines)
	if err == nil {
		if err = r.trials.write(line); err != nil {
			err = errors.Join(err, r.raw.back(len(lines)))
		}
	}
	if err != nil {
		r.broken = fmt.Errorf("batchrun: write trial %d (%s) to %s: %w", r.next+1, t.Slot(), r.dir, err)
		return r.broken
	}
	r.next++
	r.written = written
	return nil
}

func requestLines(requests []Request) ([]byte, error) {
	var b bytes.Buffer
	for i, q := range requests {
		_, line, err := settle[Request](q, encodeLine)
		if err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
		if len(line) > MaxLine {
			return nil, fmt.Errorf("request %d: a line of %d bytes, want at most %d", i, len(line), MaxLine)
		}
		b.Write(line)
	}
	return b.Bytes(), nil
}

// Close closes the files without a result. It does nothing after Finish.
func (r *Run) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	if err := errors.Join(r.raw.close(), r.trials.close()); err != nil {
		return fmt.Errorf("batchrun: close %s: %w", r.dir, err)
	}
	return nil
}

// appended is a file that whole pieces are added to.
type appended struct {
	file interface {
		io.WriteCloser
		Truncate(size int64) error
		Sync() error
	}
	name string
	size int64 // of whole pieces
	most int64
}

func create(dir, name string, most int64) (*appended, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &appended{file: f, name: name, most: most}, nil
}

func (a *appended) room(b []byte) error {
	if a.size+int64(len(b)) > a.most {
		return fmt.Errorf("%s would have %d bytes, want at most %d", a.name, a.size+int64(len(b)), a.most)
	}
	return nil
}

func (a *appended) write(b []byte) error {
	n, err := a.file.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return errors.Join(err, a.file.Truncate(a.size))
	}
	a.size += int64(len(b))
	return nil
}

// back takes the last n bytes away again.
func (a *appended) back(n int) error {
	a.size -= int64(n)
	return a.file.Truncate(a.size)
}

func (a *appended) close() error { return errors.Join(a.file.Sync(), a.file.Close()) }

// portable writes folders of this machine by name.
func portable(values map[string]string) map[string]string {
	named := map[string]string{}
	for name, v := range values {
		named[name] = results.Portable(v)
	}
	return named
}
