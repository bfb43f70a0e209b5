package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// ScheduleSchema names the form of a schedule file.
const ScheduleSchema = "batchsend-schedule/1"

type scheduleFile struct {
	Schema string `json:"schema"`
	Schedule
}

// encode gives the one form of a schedule: a line of JSON.
func (s Schedule) encode() ([]byte, error) {
	b, err := json.Marshal(scheduleFile{ScheduleSchema, s})
	if err != nil {
		return nil, fmt.Errorf("load: schedule: %w", err)
	}
	return append(b, '\n'), nil
}

// SHA256 is the hash of the bytes that WriteFile writes.
func (s Schedule) SHA256() string {
	b, err := s.encode()
	if err != nil { // a NaN, which NewSchedule refuses: such a schedule has no file and no hash
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// WriteFile writes the schedule. A file that is there already is not written over.
func (s Schedule) WriteFile(path string) (err error) {
	b, err := s.encode()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("load: schedule: %w", err)
	}
	_, err = f.Write(b)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("load: schedule %s: %w", path, err)
	}
	return nil
}

// ReadSchedule reads a schedule file, and refuses one whose times do not follow from the seed it
// names. Whether it is the schedule that was asked for is what [Spec.Differs] says.
func ReadSchedule(path string) (Schedule, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Schedule{}, fmt.Errorf("load: schedule: %w", err)
	}
	s, err := parseSchedule(b)
	if err != nil {
		return Schedule{}, fmt.Errorf("load: schedule %s: %w", path, err)
	}
	return s, nil
}

// Differs names the first field in which a spec is not the one that is wanted; nothing if it is that one.
func (s Spec) Differs(want Spec) string {
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"seed", s.Seed, want.Seed},
		{"distribution", s.Distribution, want.Distribution},
		{"rate", s.RPS, want.RPS},
		{"duration", s.Seconds, want.Seconds},
		{"number of different requests", s.Unique, want.Unique},
		{"shard", s.Shard, want.Shard},
		{"number of shards", s.Shards, want.Shards},
	} {
		if f.got != f.want {
			return fmt.Sprintf("its %s is %v, want %v", f.name, f.got, f.want)
		}
	}
	return ""
}

// parseSchedule accepts only what encode gives of the schedule that the file's own spec stands for.
func parseSchedule(b []byte) (Schedule, error) {
	var f scheduleFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return Schedule{}, err
	}
	if f.Schema != ScheduleSchema {
		return Schedule{}, fmt.Errorf("schema %q, want %q", f.Schema, ScheduleSchema)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Schedule{}, fmt.Errorf("more than one value")
	}
	if err := f.validate(); err != nil {
		return Schedule{}, err
	}
	// A hostile file's spec may stand for more times than the file holds: no more are drawn than that.
	if asked := f.RPS * f.Seconds / float64(f.Shards); asked > 2*float64(len(f.At))+100 {
		return Schedule{}, fmt.Errorf("%d times, far from the %.0f that %v requests a second for %v s give", len(f.At), asked, f.RPS, f.Seconds)
	}
	s, err := NewSchedule(f.Spec)
	if err != nil {
		return Schedule{}, err
	}
	if len(f.At) != len(s.At) {
		return Schedule{}, fmt.Errorf("%d times, want the %d that follow from seed %d", len(f.At), len(s.At), s.Seed)
	}
	for i, at := range f.At {
		if at != s.At[i] {
			return Schedule{}, fmt.Errorf("time %d is %v, want %v, as follows from seed %d", i, at, s.At[i], s.Seed)
		}
	}
	canonical, err := s.encode()
	if err != nil {
		return Schedule{}, err
	}
	if !bytes.Equal(b, canonical) {
		return Schedule{}, fmt.Errorf("not in the form in which schedules are written")
	}
	return s, nil
}
