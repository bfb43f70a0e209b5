//go:build !amd64

package kernels

func choose() implementation { return plain }
