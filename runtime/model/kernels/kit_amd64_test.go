package kernels

// implementations are all that this machine can run.
func implementations() []implementation {
	if hasAVX2() {
		return []implementation{plain, avx2}
	}
	return []implementation{plain}
}
