// Command avogen writes kernels_amd64.s and stubs_amd64.go of the folder above it: the
// assembly of package kernels, whose documentation says what each function computes and in
// which order. It is a module of its own, so that avo is in no program.
//
//	go run .           writes both
//	go run . -check    says whether what is there is what it would write, and exits 1 if not
//
// It is run in its own folder. scripts/lint does the check.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

func main() {
	check := flag.Bool("check", false, "compare with the files that are there, write nothing")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "avogen:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	file, err := kernels()
	if err != nil {
		return err
	}
	config := printer.Config{Name: "avogen", Pkg: "kernels"}
	var bad []error
	for name, p := range map[string]printer.Printer{
		"../kernels_amd64.s": printer.NewGoAsm(config), "../stubs_amd64.go": printer.NewStubs(config),
	} {
		text, err := p.Print(file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !check {
			bad = append(bad, os.WriteFile(name, text, 0o644))
			continue
		}
		there, err := os.ReadFile(name)
		if err == nil && !bytes.Equal(there, text) {
			err = fmt.Errorf("%s is not what the generator writes: run it anew (go generate in the folder of the kernels)", name)
		}
		bad = append(bad, err)
	}
	return errors.Join(bad...)
}

// kernels is the whole file, with its registers chosen.
func kernels() (*ir.File, error) {
	c := build.NewContext()
	for _, tokens := range []int{1, 2, 3} {
		tile{c, tokens, f32{}}.emit()
		tile{c, tokens, f16{}}.emit()
		tile{c, tokens, &bf16{tokens: tokens}}.emit()
		scores(c, tokens)
		weigh(c, tokens)
	}
	for _, tokens := range []int{1, 2} {
		tile{c, tokens, &q8{}}.emit()
	}
	vectors(c)
	exponentials(c)
	apart(c)
	quantize(c)
	file, err := c.Result()
	if err != nil {
		return nil, err
	}
	return file, pass.Compile.Execute(file)
}
