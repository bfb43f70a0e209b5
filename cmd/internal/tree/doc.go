// Package tree builds the worker of another checkout of this module: of a folder
// as it lies there, or of a revision of a git repository.
//
// A Tree names one of the two; Folder and AtRevision find out whether it is one,
// and build nothing. Build hashes the files that the program is made from, builds
// ./cmd/fanoutbench or another program of it, and hashes the files again: a tree that was edited meanwhile
// is an error. What comes out is one executable, or, given seeds, one for each,
// linked with its functions in another order (the linker's -randlayout).
//
// Commit, MergeBase and Checkout know nothing of this module: package sglang finds
// revisions of another project with them.
//
// # What is touched
//
// A folder is built where it lies, and nothing in it is written: neither files
// nor the index of its repository. Of a repository only objects are read: a
// revision is written with an index of its own (read-tree, checkout-index), so
// that no worktree, no branch and no lock is left behind, and no hook runs.
//
// All that is made lies below a cache folder, by default
// ${XDG_CACHE_HOME:-$HOME/.cache}/fanoutbench, and may be removed when no run
// needs it:
//
//	trees/COMMIT               the files of a commit, whole: made beside its place
//	                           and renamed. Before it is used again it is compared
//	                           with the commit.
//	trees/COMMIT-SHA256        the same with a patch on top, by the patch's hash
//	workers/PROGRAM-SHA256     an executable, by its own hash
//
// # How it is built
//
// go build -trimpath -buildvcs=false, with the go command in PATH, for this
// machine. GOFLAGS and workspaces count for nothing and go.mod is not changed
// (-mod=vendor where the tree has a vendor folder, else -mod=readonly), so that
// both arms of a run are built in one way; the other variables of the go command
// stay in force. Submodules of a revision are not checked out: most builds need
// none, and where one fails they are named.
//
// # Errors
//
// An *InputError is what the user can mend: no such revision, no checkout of
// this module, a compile error (with the whole output of the compiler), no go or
// git in PATH. Other errors are of the machine: a full disk, a cache that cannot
// be written or whose tree was changed, a build that was interrupted.
//
// # Tried and dropped
//
//   - git worktree add: it leaves an entry in .git/worktrees, and one that was
//     interrupted a lock.
//   - git archive: export-ignore and export-subst make other files of it than a
//     checkout has.
//   - Executables cached by the hash of their sources: the environment that the
//     compiler heeds is long (GOAMD64, GOEXPERIMENT, CC and on), and a stale one
//     would be measured in silence. The go command's own cache knows it, and a
//     link takes a second.
package tree
