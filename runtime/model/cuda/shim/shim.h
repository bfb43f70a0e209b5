// A libcuda that is linked in and has the real one loaded when the program asks for it.
#ifndef CUDA_SHIM_H
#define CUDA_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

// Loads the library (libcuda.so.1, or a path) and calls its cuInit. The result is what that cuInit
// returned; CUDA_SHIM_NO_LIBRARY where the library cannot be loaded, with the loader's words in why;
// CUDA_SHIM_NO_INIT where it has no cuInit. Once a library is loaded, later calls only call its cuInit
// again, whatever they name. Not to be called by two threads at once.
int cuda_shim_load(const char *library, const char **why);

#define CUDA_SHIM_NO_LIBRARY (-1)
#define CUDA_SHIM_NO_INIT (-2)

// The i-th function that the loaded library lacks, 0 behind the last one. A call of such a function
// returns CUDA_ERROR_NOT_FOUND.
const char *cuda_shim_missing(unsigned i);

#ifdef __cplusplus
}
#endif
#endif
