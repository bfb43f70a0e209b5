// Package driver opens an NVIDIA device and does on it what a model needs: memory, copies, kernels. It
// wraps gorgonia.org/cu and has no code without the build tag cuda, so the default build has neither cgo
// nor anything of CUDA.
//
// # Building
//
// `eval "$(scripts/cuda_env.sh)"` and then `go build -tags cuda` links the static libcuda of ../shim: the
// program starts on every machine, and [Open] loads the real libcuda.so.1 (or what FANOUTBENCH_LIBCUDA
// names) when somebody first wants a device. gorgonia.org/cu calls cuInit when a program starts and
// ends it when that fails; the shim's cuInit does nothing and succeeds, the real one is called by Open,
// which has its error.
//
// # One thread
//
// A [Device] has one OS thread, one context and one stream. All that is done with it is done in a function
// given to [Device.Run], on that thread, which gets the [Thread] to do it with; functions of several
// goroutines run one after the other. Uploads and launches only go into the stream; [Thread.Download] and
// [Thread.Synchronize] wait for it. An upload's source may be changed as soon as Upload returns.
//
// # Errors
//
// What the driver refuses is an [*Error] with the call, CUDA's code and its name:
//
//	cuLaunchKernel matvec_bf16: CUDA_ERROR_INVALID_VALUE (1)
//
// An error of a kernel comes with a later call, whichever waits for it; the text then names the kernel
// launched last. After an error that CUDA mends only in a new process ([Error.Sticky]) every later call
// of the device returns that error at once, without asking the driver, except that [Thread.Free] also
// forgets the buffer.
//
// Wrong arguments (a copy outside its buffer, a kernel with too few arguments) are found before the
// driver is asked: they would be a crash inside C.
//
// # Arguments of kernels
//
// Every argument takes a slot of 64 bits, of which the kernel reads as many as its parameter has: a
// pointer, a `long long`, or a float32 as [F32] puts it there. Structs by value do not fit: Load refuses
// a module that has a kernel with one.
//
// # What gorgonia.org/cu leaves out
//
// It has no cuFuncSetAttribute, so a kernel has at most 48 KB of shared memory; no pinned host memory; no
// graphs that can be launched.
package driver
