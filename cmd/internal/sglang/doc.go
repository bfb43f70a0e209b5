// Package sglang finds SGLang's source trees, fetches its releases, and knows how a
// tree is run: by an interpreter and this program's script (package scripts).
//
// A Tree is a folder that holds sglang/__init__.py: the folder python of a
// checkout, or an unpacked wheel. It is named by such a folder or by one with
// python/sglang/__init__.py, by a commit of a repository, or by the version of a
// release. Finding it costs little and writes nothing; Prepare then makes it a
// folder of this machine. Nothing is built, and nothing is imported here: what a
// tree cannot do, its controller says.
//
// # Cache
//
// Below the cache of package tree lie, beside its trees:
//
//	releases/sglang-VERSION-SHA256   a wheel's files, by the hash of the wheel
//	controllers/SHA256.py            the script, by its hash
//
// A release is fetched by the arm's own interpreter (pip download, without
// dependencies), unpacked beside its place and renamed, so that it is there whole or
// not at all. Each time it is used it is compared with the list of hashes that the
// wheel carries (RECORD, of the binary distribution format of PyPA). Python is told
// to write no bytecode (-B), here as for any tree: trees are left as they are.
//
// # Errors
//
// An *InputError is what the user can mend, as in package tree.
package sglang
