//go:build !linux

package batchdriver

// bootName and clockError are known of Linux only.
func bootName() string { return "" }

func clockError() *float64 { return nil }
