package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fanoutbench/fanoutbench/cmd/internal/batchdriver"
	"github.com/fanoutbench/fanoutbench/cmd/internal/scoring"
	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
	"github.com/fanoutbench/fanoutbench/runtime/tokenizer/bpe"
)

// readDataset puts the requests of --dataset in place of made-up ones.
func (f *runFlags) readDataset(l *batchdriver.Load) error {
	if f.dataset == "" {
		return nil
	}
	prompts, err := scoring.ReadDatasetFile(f.dataset, f.api)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(f.dataset)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	l.Dataset = &batchdriver.Dataset{Prompts: prompts, SHA256: hex.EncodeToString(sum[:])}
	items := 1
	for _, p := range prompts {
		items = max(items, len(p.Items), len(p.ItemIDs))
	}
	l.Items = items
	if len(l.Singles) > 0 {
		l.Singles = []int{items}
	}
	return nil
}

// readTokenizer reads the tokenizer of --tokenizer.
func (f *runFlags) readTokenizer(conf *batchdriver.Config) error {
	if f.tokenizer == "" {
		return nil
	}
	if conf.Arms[batchrun.Reference].Ours() && conf.Arms[batchrun.Candidate].Ours() {
		return fmt.Errorf("--tokenizer %s means nothing to arms that are both servers of this module: they are asked", f.tokenizer)
	}
	b, err := os.ReadFile(f.tokenizer)
	if err != nil {
		return fmt.Errorf("--tokenizer: %w", err)
	}
	t, err := bpe.Parse(b)
	if err != nil {
		return fmt.Errorf("--tokenizer %s: %w", f.tokenizer, err)
	}
	sum := sha256.Sum256(b)
	conf.Load.Tokenizer = &batchdriver.Tokenizer{Encode: t.Encode, SHA256: hex.EncodeToString(sum[:])}
	return nil
}

// readLogs finds whose logs those of --server-log are.
func (f *runFlags) readLogs(conf *batchdriver.Config) error {
	conf.ServerLogs = map[string]string{}
	for _, word := range f.serverLogs {
		name, path, named := strings.Cut(word, "=")
		if !named || name != batchrun.Reference && name != batchrun.Candidate {
			path = word
			if name = loneURL(conf.Arms); name == "" {
				return fmt.Errorf("--server-log %s: want reference=FILE or candidate=FILE, unless exactly one arm is a url: arm", word)
			}
		}
		if conf.Arms[name].Kind != servearm.KindURL {
			return fmt.Errorf("--server-log %s: the %s, %s, is started by this program, which has its log; want it of a url: arm", word, name, conf.Arms[name].Spec)
		}
		if _, twice := conf.ServerLogs[name]; twice {
			return fmt.Errorf("--server-log is given twice for the %s", name)
		}
		if _, err := scoring.OpenLog(path); err != nil {
			return err
		}
		conf.ServerLogs[name] = path
	}
	return nil
}

// readKeys takes the keys of --api-key-env from the environment. What is wrong with one
// is told by its variable, never by its value.
func (f *runFlags) readKeys(conf *batchdriver.Config) error {
	conf.Keys = map[string]string{}
	for _, word := range f.keys {
		name, variable, named := strings.Cut(word, "=")
		arms := []string{name}
		if !named {
			variable, arms = word, foreign(conf.Arms)
		} else if name != batchrun.Reference && name != batchrun.Candidate {
			return fmt.Errorf("--api-key-env is %q, want NAME, reference=NAME or candidate=NAME", word)
		}
		key := os.Getenv(variable)
		if !slices.ContainsFunc(arms, func(arm string) bool { return !conf.Arms[arm].Ours() }) {
			return fmt.Errorf("--api-key-env %s means nothing to servers of this module that this program starts; want it of a launch: or url: arm", word)
		}
		if key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("--api-key-env: the environment variable %q is empty or no key, want letters, digits and signs without blanks", variable)
		}
		for _, arm := range arms {
			if _, twice := conf.Keys[arm]; twice {
				return fmt.Errorf("--api-key-env is given twice for the %s", arm)
			}
			conf.Keys[arm] = key
		}
	}
	return nil
}

// foreign are the arms that are no servers of this module.
func foreign(arms map[string]servearm.Arm) (names []string) {
	for _, name := range []string{batchrun.Reference, batchrun.Candidate} {
		if !arms[name].Ours() {
			names = append(names, name)
		}
	}
	return names
}

// loneURL is the only url: arm, if there is exactly one.
func loneURL(arms map[string]servearm.Arm) string {
	lone := ""
	for name, a := range arms {
		if a.Kind != servearm.KindURL {
			continue
		}
		if lone != "" {
			return ""
		}
		lone = name
	}
	return lone
}
