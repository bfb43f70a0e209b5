package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// Servers that want keys and a model's name get each its own, and no file of the run has a key.
func TestKeys(t *testing.T) {
	const first, second = "sk-first-0123", "sk-second-4567"
	t.Setenv("BATCHSEND_TEST_KEY", first)
	t.Setenv("BATCHSEND_TEST_OTHER", second)
	reference, candidate := (&fake{key: first, model: "m/7B"}).serve(t), (&fake{key: second, model: "m/7B"}).serve(t)
	arms := []string{"--reference", reference, "--candidate", candidate}
	p := measure(t, append(arms, "--model", "m/7B", "--api-key-env", "reference=BATCHSEND_TEST_KEY", "--api-key-env", "candidate=BATCHSEND_TEST_OTHER")...).run(exitOK)
	if got := p.folder().Result.Arms[batchrun.Reference].Server["page_size"]; got != "1" {
		t.Errorf("the server says that its page size is %q, want 1", got)
	}
	if repeat := strings.Join(p.folder().Result.Repeat, " "); !strings.Contains(repeat, "--model=m/7B --") || !strings.Contains(repeat, "--api-key-env=candidate=BATCHSEND_TEST_OTHER") {
		t.Errorf("to repeat it: %s", repeat)
	}
	err := filepath.WalkDir(p.output, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(first)) || bytes.Contains(b, []byte(second)) {
			t.Errorf("%s has a key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	measure(t, arms...).run(exitInvalid).says("status 401", "--api-key-env")
	measure(t, append(arms, "--api-key-env", "BATCHSEND_TEST_KEY", "--model", "m/7B")...).run(exitInvalid).says("candidate: ", "status 401")
	same := (&fake{key: first}).serve(t)
	measure(t, "--reference", same, "--candidate", same, "--api-key-env", "BATCHSEND_TEST_KEY").run(exitOK)
	t.Setenv("BATCHSEND_TEST_KEY", "secret key")
	p = measure(t, append(arms, "--api-key-env", "BATCHSEND_TEST_KEY")...).run(exitUsage).says(`"BATCHSEND_TEST_KEY" is empty or no key`)
	if strings.Contains(p.stderr.String(), "secret") {
		t.Errorf("a key is told: %s", p.stderr.String())
	}
}
