// Package safetensors reads the weights of a Hugging Face folder where they lie: the
// files are mapped, their tensors are parts of the mappings.
//
// # Format
//
// Source: the safetensors format's own description and its Rust code.
//
//	8 bytes          N, the header's length, little-endian; at most 100,000,000
//	N bytes          a JSON object, behind it spaces: name of a tensor to its entry
//	the rest         the tensors' bytes, one after another
//
//	entry            {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}
//	"__metadata__"   an object of strings, for people; it is only checked
//
// Offsets count from the header's end. As in the reference code tensors follow one
// another without a gap from the first byte to the last, so that none can overlap,
// and a file that is cut short is noticed. Unlike there, a key that is given twice is
// an error: the one that a JSON reader keeps need not be the one that was meant.
// Dtypes are F32, F16 and BF16: the models that are read have no others.
//
// # Folders
//
// A folder has model.safetensors, or model.safetensors.index.json, which names the
// file of each tensor:
//
//	{"metadata": {}, "weight_map": {"model.norm.weight": "model-00002-of-00002.safetensors"}}
//
// Where both are there the single file is read, as transformers does. Files lie in
// the folder itself. Index and files must name the same tensors, each in one file.
//
// # Errors
//
// All of a file is checked before anything of it is given, but for the numbers
// themselves. Errors name the file, the tensor and what was expected. Memory for a
// header is bounded by a multiple of its bytes, which must be there.
//
// # Designs dropped
//
// A reader of parts for files too large to map: what is served is read whole, and
// 64-bit systems map any file.
package safetensors
