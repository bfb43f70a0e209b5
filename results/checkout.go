package results

// ModuleRoot is the folder at or above dir that is the root of a checkout of
// this module, "" without one.
func ModuleRoot(dir string) string { return moduleRoot(dir) }

// Checkout describes the checkout of this module whose root is given: its
// commit, whether its files differ from it ("true" or "false"), and the patch
// that makes the difference, as Environment has them. What is not known is
// empty. It changes nothing there.
func Checkout(root string) (commit, modified, patch string) { return revision(root, "go.mod") }

// CheckoutOf describes a checkout of any project, or the part of it below a
// folder, by a file there that git must hold.
func CheckoutOf(folder, file string) (commit, modified, patch string) { return revision(folder, file) }
