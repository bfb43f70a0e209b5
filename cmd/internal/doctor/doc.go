// Package doctor says what on a machine spoils measurements, why, and how to mend
// it.
//
// Examine looks at one thing after another and makes a Finding of each: good, it
// spoils, or unknown. What a system does not tell is unknown and never taken for
// good; on systems other than Linux that is most of it. It changes nothing.
//
// All files are read below Machine.Root, "/" but in tests; what no file tells
// (limits, free space, the environment, the CPUs that the process may run on) is in
// the other fields. Here fills them in for this process.
//
// # Sources
//
//   - governor, turbo, SMT, cgroup limits, clock source, huge pages, load average
//     and swap: package results, Facts, as in the environment of every run
//   - steal and CPU pressure: proc/stat and proc/pressure/cpu, twice, a second apart
//   - type of the temporary folder's file system: proc/self/mountinfo, the last
//     mount of the longest path above the folder (proc(5))
//
// The limits (a quarter of the CPUs for the load average, a hundredth of the time
// for steal, a tenth for pressure) are rules of thumb. Good therefore means that
// nothing was found, not that a measurement will be quiet: `fanoutbench explain`
// says what a run met.
package doctor
