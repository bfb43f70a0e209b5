package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestScheduleFile(t *testing.T) {
	spec := poisson(9, 50, 2)
	s := newSchedule(t, spec)
	path := filepath.Join(t.TempDir(), "schedule.json")
	if err := s.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFile(path); err == nil {
		t.Error("a schedule was written over another; want an error")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != s.SHA256() {
		t.Errorf("SHA256 is %s, and the file's is %x", s.SHA256(), sum)
	}
	got, err := ReadSchedule(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.Spec != s.Spec || !slices.Equal(got.At, s.At) || !slices.Equal(got.Request, s.Request) {
		t.Error("the schedule read is not the one written")
	}
	for want, change := range map[string]func(*Spec){
		"":                                 func(*Spec) {},
		"its seed is 9, want 10":           func(s *Spec) { s.Seed = 10 },
		"its distribution is poisson,":     func(s *Spec) { s.Distribution = Constant },
		"its rate is":                      func(s *Spec) { s.RPS++ },
		"its duration is":                  func(s *Spec) { s.Seconds++ },
		"its number of different requests": func(s *Spec) { s.Unique++ },
		"its shard is":                     func(s *Spec) { s.Shard++ },
		"its number of shards is":          func(s *Spec) { s.Shards++ },
	} {
		other := spec
		change(&other)
		if said := got.Differs(other); !strings.HasPrefix(said, want) || (said == "") != (want == "") {
			t.Errorf("said %q, want %q", said, want)
		}
	}
	if _, err := ReadSchedule(path + ".none"); err == nil {
		t.Error("a missing file: no error")
	}
}

// The hash is the same on every machine and in every version: arms are compared by it over years.
func TestScheduleHashStays(t *testing.T) {
	const want = "c62a24b38b2b2b126edcfa73d7cb0d1ec2808932f898857295baca2e722c637f"
	if got := newSchedule(t, poisson(1, 500, 20)).SHA256(); got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestScheduleFileRefuses(t *testing.T) {
	s := newSchedule(t, poisson(9, 50, 2))
	good, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	changed := s
	changed.At = slices.Clone(s.At)
	changed.At[5] += 1e-9
	shorter := s
	shorter.At, shorter.Request = s.At[:40], s.Request[:40]
	swapped := s
	swapped.Request = slices.Clone(s.Request)
	swapped.Request[3] = 7
	huge := Schedule{Spec: s.Spec}
	huge.RPS, huge.Seconds = 1e6, 10
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"another seed's times", bytes.Replace(good, []byte(`"seed":9`), []byte(`"seed":8`), 1), "from seed 8"},
		{"a time changed", encoded(t, changed), "time 5 is"},
		{"times left out", encoded(t, shorter), "times, want the"},
		{"a body changed", encoded(t, swapped), "not in the form"},
		{"few times of many", encoded(t, huge), "far from the 10000000"},
		{"another schema", bytes.Replace(good, []byte("schedule/1"), []byte("schedule/2"), 1), "schema"},
		{"a field too many", bytes.Replace(good, []byte(`"seed"`), []byte(`"extra":1,"seed"`), 1), "extra"},
		{"blanks", bytes.Replace(good, []byte(`,"rps"`), []byte(`, "rps"`), 1), "not in the form"},
		{"more behind", append(slices.Clone(good), "{}"...), "more than one value"},
		{"cut", good[:len(good)/2], "unexpected EOF"},
		{"rate 0", bytes.Replace(good, []byte(`"rps":50`), []byte(`"rps":0`), 1), "rate 0 "},
	}
	for _, test := range tests {
		if _, err := parseSchedule(test.file); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", test.name, err, test.want)
		}
	}
}

func encoded(t testing.TB, s Schedule) []byte {
	t.Helper()
	b, err := s.encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is accepted is exactly what would be written.
func FuzzScheduleFile(f *testing.F) {
	for _, spec := range []Spec{poisson(1, 20, 1), {Seed: 1 << 63, Distribution: Constant, RPS: 3, Seconds: 2, Unique: 2, Shard: 1, Shards: 2}} {
		f.Add(encoded(f, newSchedule(f, spec)))
	}
	f.Add([]byte(`{"schema":"batchsend-schedule/1","seed":1,"distribution":"poisson","rps":1e7,"seconds":1,"unique":1,"shard":0,"shards":1,"at":[],"request":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSchedule(b)
		if err == nil && !bytes.Equal(encoded(t, s), b) {
			t.Errorf("accepted %q, which would be written as %q", b, encoded(t, s))
		}
	})
}
