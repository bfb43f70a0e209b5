package gguf

import "fmt"

// Has says whether the file has the key.
func (f *File) Has(key string) bool {
	_, has := f.values[key]
	return has
}

// wrong says that a key's value is not what was asked for. Who asks knows the file.
func (f *File) wrong(key, want string) error {
	v, has := f.values[key]
	if !has {
		return fmt.Errorf("no key %s, expected %s", key, want)
	}
	return fmt.Errorf("key %s is %v, expected %s", key, v, want)
}

// Int is a key's whole number, of any of the integer types.
func (f *File) Int(key string) (int64, error) {
	if v, has := f.values[key]; has && !v.array {
		if n, ok := integer(v.kind, v.raw); ok {
			return n, nil
		}
	}
	return 0, f.wrong(key, "a whole number of at most 63 bits")
}

// Float is a key's f32 or f64.
func (f *File) Float(key string) (float64, error) {
	if v, has := f.values[key]; has && !v.array {
		if n, ok := float(v.kind, v.raw); ok {
			return n, nil
		}
	}
	return 0, f.wrong(key, "f32 or f64")
}

// Bool is a key's.
func (f *File) Bool(key string) (bool, error) {
	if v, has := f.values[key]; has && !v.array && v.kind == kindBool {
		return v.raw[0] == 1, nil
	}
	return false, f.wrong(key, "a bool")
}

// String is a key's, as the bytes stand in the file: they need not be UTF-8.
func (f *File) String(key string) (string, error) {
	if v, has := f.values[key]; has && !v.array && v.kind == kindString {
		return string(v.raw), nil
	}
	return "", f.wrong(key, "a string")
}

// Strings are a key's: tokenizer.ggml.tokens, for one.
func (f *File) Strings(key string) ([]string, error) {
	v, has := f.values[key]
	if !has || !v.array || v.kind != kindString {
		return nil, f.wrong(key, "an array of strings")
	}
	r, all := reader{left: v.raw}, make([]string, v.n)
	for i := range all {
		all[i] = string(r.string())
	}
	return all, r.err
}

// Ints are a key's whole numbers: tokenizer.ggml.token_type, for one.
func (f *File) Ints(key string) ([]int64, error) {
	v, has := f.values[key]
	if !has || !v.array {
		return nil, f.wrong(key, "an array of whole numbers")
	}
	all, size := make([]int64, v.n), int(kinds[v.kind].bytes)
	for i := range all {
		var ok bool
		if all[i], ok = integer(v.kind, v.raw[i*size:]); !ok {
			return nil, f.wrong(key, "an array of whole numbers of at most 63 bits")
		}
	}
	return all, nil
}

// Floats are a key's: tokenizer.ggml.scores, for one.
func (f *File) Floats(key string) ([]float64, error) {
	v, has := f.values[key]
	if !has || !v.array {
		return nil, f.wrong(key, "an array of f32 or f64")
	}
	all, size := make([]float64, v.n), int(kinds[v.kind].bytes)
	for i := range all {
		var ok bool
		if all[i], ok = float(v.kind, v.raw[i*size:]); !ok {
			return nil, f.wrong(key, "an array of f32 or f64")
		}
	}
	return all, nil
}

// Len is the number of values of a key's array.
func (f *File) Len(key string) (int, error) {
	if v, has := f.values[key]; has && v.array {
		return v.n, nil
	}
	return 0, f.wrong(key, "an array")
}
