// Package modeltest tests what package model asks of every model that computes: that
// logits do not depend on the batch, and that a bad batch changes nothing. A model's
// tests describe it by a [Subject]. It is for tests only.
package modeltest
