package sglang

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fanoutbench/fanoutbench/results"
)

// version is what a release may be called (a public version of PEP 440): it becomes
// part of a command and of a path.
var version = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,5}((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?$`)

// AtRelease is the release of that version. It is not looked for yet.
func AtRelease(v string) (Tree, error) {
	if len(v) > 40 || !version.MatchString(v) {
		return Tree{}, wrong("version %q, want one such as 0.5.21 or 0.5.22.post1", v)
	}
	return Tree{Release: v}, nil
}

// pipTimeout is how long a download may take.
const pipTimeout = 10 * time.Minute

// fetch gives the folder of a release, from the cache if it is there.
func fetch(ctx context.Context, python, cache, v string) (folder string, err error) {
	releases := filepath.Join(cache, "releases")
	if err := os.MkdirAll(releases, 0o755); err != nil {
		return "", fmt.Errorf("sglang: cache: %w", err)
	}
	there, err := filepath.Glob(filepath.Join(releases, "sglang-"+v+"-*"))
	if err != nil {
		return "", fmt.Errorf("sglang: cache: %w", err)
	}
	switch len(there) {
	case 0:
	case 1:
		return there[0], asRecorded(there[0])
	default:
		return "", wrong("release %s is in the cache with two contents, %s; remove the one that is not meant", v, strings.Join(there, " and "))
	}
	making, err := os.MkdirTemp(releases, "making-")
	if err != nil {
		return "", fmt.Errorf("sglang: cache: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(making)) }()
	wheel, err := download(ctx, python, making, v)
	if err != nil {
		return "", err
	}
	sum, err := results.HashFile(wheel)
	if err != nil {
		return "", err
	}
	whole := filepath.Join(making, "whole")
	if err := unpack(wheel, whole); err != nil {
		return "", err
	}
	if err := asRecorded(whole); err != nil {
		return "", err
	}
	folder = filepath.Join(releases, "sglang-"+v+"-"+sum)
	if err := os.Rename(whole, folder); err != nil {
		if _, there := os.Lstat(folder); there != nil {
			return "", fmt.Errorf("sglang: cache: %w", err)
		}
		return folder, asRecorded(folder) // another program was faster
	}
	return folder, nil
}

// download has pip put the wheel into a folder.
func download(ctx context.Context, python, folder, v string) (wheel string, err error) {
	_, err = runPython(ctx, python, pipTimeout, "-m", "pip", "download", "--disable-pip-version-check", "--no-input", "--quiet",
		"--no-deps", "--only-binary=:all:", "--dest", folder, "sglang=="+v)
	if err != nil {
		return "", fmt.Errorf("release %s of sglang cannot be fetched (%s -m pip download): %w", v, python, err)
	}
	wheels, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", wrong("release %s of sglang: pip left %d wheels, want 1", v, len(wheels))
	}
	return wheels[0], nil
}

// maxUnpacked keeps a wheel that is none from filling the disk. A release has some
// 40 MB.
const maxUnpacked = 2 << 30

// unpack writes the files of a wheel below a folder that it makes.
func unpack(wheel, folder string) (err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return wrong("the wheel %s: %w", filepath.Base(wheel), err)
	}
	defer func() { err = errors.Join(err, z.Close()) }()
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("sglang: cache: %w", err)
	}
	left := int64(maxUnpacked)
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if !fs.ValidPath(f.Name) || !filepath.IsLocal(f.Name) || !f.Mode().IsRegular() {
			return wrong("the wheel %s holds %q (%v), want regular files below it", filepath.Base(wheel), f.Name, f.Mode())
		}
		n, err := unpackFile(f, filepath.Join(folder, filepath.FromSlash(f.Name)), left)
		if err != nil {
			return fmt.Errorf("sglang: unpack %s of %s: %w", f.Name, filepath.Base(wheel), err)
		}
		if left -= n; left <= 0 {
			return wrong("the wheel %s unpacks to more than %d bytes", filepath.Base(wheel), maxUnpacked)
		}
	}
	return nil
}

func unpackFile(f *zip.File, to string, limit int64) (n int64, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, err
	}
	in, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(in, limit))
	return n, errors.Join(err, out.Close())
}

// asRecorded wants a folder to hold the files of its RECORD and nothing else. One
// that does not is left alone: somebody may have worked in it.
func asRecorded(folder string) error {
	want, list, err := record(folder)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		at, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		at = filepath.ToSlash(at)
		seen[at] = true
		sum, listed := want[at]
		if at == list {
			return nil
		}
		got, err := results.HashFile(name)
		if err == nil && (!listed || got != sum) {
			err = wrong("the unpacked release %s is not what its wheel held: %s differs; remove that folder", folder, at)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if !seen[path.Clean(at)] {
			return wrong("the unpacked release %s is not what its wheel held: %s is missing; remove that folder", folder, at)
		}
	}
	if !seen[mark] {
		return wrong("the release in %s has no %s", folder, mark)
	}
	return nil
}
