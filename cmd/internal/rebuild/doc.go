// Package rebuild has the arms of a run again from what its record says of them,
// to be run once more.
//
// # How each kind is had again
//
//	builtin:    the program at the revision of the run's environment, with the patch
//	            that was not committed: its controller and its worker
//	dir:, git:  the worker of the arm's own revision and patch, under the controller
//	            of the program as above; under this program's where the record does
//	            not say which revision the program was
//	sglang:     the release, by its version
//	dir:, git:  of an SGLang tree: the commit, with its patch, under this program's
//	            script
//	exec:       the command as it stands in the record, which nothing can rebuild;
//	            or another one that is given
//
// Revisions are looked for in the repository around one folder. Trees are built in
// the cache (package tree); neither the repository nor any folder of it is written.
//
// # What is compared
//
// Sources of what was built from this module, file by file, before anything is run.
// Executables: a worker of a dir: or git: arm is built in one way from its sources
// and the toolchain, so with the same Go version it must be the same, with each
// layout's seed for each layout; one of a builtin: arm was built in whatever way its
// user liked, so it is only said whether it is the same. Toolchain and modules, and
// all that an exec or SGLang arm tells of itself, are in the receipts and compared
// when the new run has ended (results.Compare).
//
// Errors are *arm.SpecError or *tree.InputError where the record or the repository
// lacks something: a revision that is gone, a patch that was not kept, a tree that
// comes out with other files.
package rebuild
