//go:build !amd64

package kernels

func implementations() []implementation { return []implementation{plain} }
