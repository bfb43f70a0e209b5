// Package runs holds committed runs of fanoutbench, one folder a run. It is a
// module of its own, so that whoever imports the program does not download
// them. README.md says how to check one.
package runs
