// Package drivertest has tests use the fake CUDA driver: a device that is looked over when it is closed, a process
// of its own for what leaves a process without a device, and what the fake driver says.
//
// `eval "$(scripts/cuda_env.sh)"` builds the fake and sets FANOUTBENCH_FAKECUDA; ../../fakecuda/README.md lists the
// variables that change how it behaves. It reads them at every call, so a test sets them with t.Setenv.
package drivertest
