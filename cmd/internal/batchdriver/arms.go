package batchdriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/fanoutbench/fanoutbench/cmd/internal/servearm"
	"github.com/fanoutbench/fanoutbench/results"
	"github.com/fanoutbench/fanoutbench/results/batchrun"
)

// describe says what the arms are made of.
func (d *driver) describe() error {
	for _, name := range arms {
		a := d.conf.Arms[name]
		about := batchrun.Arm{Spec: a.Spec, Kind: a.Kind, Command: a.Command(records(d.plan)), Restart: d.conf.Restart, Options: inForce(a), Server: map[string]string{}}
		var err error
		switch {
		case a.Build != nil:
			b := a.Build
			about.Sources, about.BinarySHA256, about.Revision, about.Modified, about.Patch = b.Sources, []string{b.Workers[0].SHA256}, b.Revision, b.Modified, b.Patch
		case a.Kind == servearm.KindBuiltin:
			err = self(&about)
		case a.Kind == servearm.KindURL:
			about.Restart = batchrun.RestartNever
		}
		if err != nil {
			return err
		}
		d.about[name] = about
	}
	return nil
}

// self is what the servers of this program are made of.
func self(about *batchrun.Arm) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("batchdriver: %w", err)
	}
	f, err := os.Open(exe)
	if err != nil {
		return fmt.Errorf("batchdriver: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("batchdriver: %w", err)
	}
	about.BinarySHA256 = []string{hex.EncodeToString(h.Sum(nil))}
	about.Sources, err = results.TreeSources(".")
	return err
}

// meet asks a fresh server what it says of itself. It need not answer.
func (d *driver) meet(ctx context.Context, name string) error {
	s := d.servers[name]
	info, err := s.client.ServerInfo(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		d.note("the %s does not say what its settings are: %v", name, err)
		return nil
	}
	var said map[string]any
	if err := json.Unmarshal(info, &said); err != nil {
		d.note("the %s does not say what its settings are: %v", name, err)
		return nil
	}
	for k, v := range said {
		switch v.(type) {
		case string, float64, bool:
			if !slices.Contains(perServer, k) && !slices.Contains(secrets, k) {
				d.about[name].Server[k] = fmt.Sprint(v)
			}
		}
	}
	return nil
}

// perServer differ between two servers of one arm and say nothing of it.
var perServer = []string{"port", "host"}

// secrets are in what SGLang says of its settings, and in no record.
var secrets = []string{"api_key", "admin_api_key", "ssl_keyfile_password"}
