// Builds libcuda.a: every function of symbols.h as a jump through a pointer. Before a library is
// loaded all pointers lead to a function that returns CUDA_ERROR_NOT_INITIALIZED.
//
// A program linked with this starts on a machine without a driver, and does not touch the driver of a
// machine that has one until it wants a device.
#include "shim.h"

#include <dlfcn.h>

enum { not_initialized = 3, not_found = 500 }; // of CUresult; cuda.h is not needed to build this

static int before_load(void) { return not_initialized; }
static int missing(void) { return not_found; }

#define SYMBOL(name) __attribute__((visibility("hidden"))) void *cuda_shim_to_##name = (void *)before_load;
#include "symbols.h"
#undef SYMBOL

#if defined(__x86_64__)
#define JUMP(name) "jmp *cuda_shim_to_" #name "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(name) "adrp x16, cuda_shim_to_" #name "\nldr x16, [x16, :lo12:cuda_shim_to_" #name "]\nbr x16\n"
#else
#error "shim.c knows how to jump on x86-64 and arm64 only"
#endif

#define SYMBOL(name) __asm__(".text\n.globl " #name "\n.type " #name ",%function\n" #name ":\n" JUMP(name) ".size " #name ", .-" #name "\n");
#include "symbols.h"
#undef SYMBOL

static const struct {
    const char *name;
    void **to;
} symbols[] = {
#define SYMBOL(name) {#name, &cuda_shim_to_##name},
#include "symbols.h"
#undef SYMBOL
};

enum { count = sizeof symbols / sizeof *symbols };

static void *handle;
static int (*real_init)(unsigned);

// gorgonia.org/cu calls cuInit when the program starts and ends the process when that fails. This one
// does nothing and always succeeds; cuda_shim_load calls the real one and has its result.
int cuInit(unsigned flags) {
    (void)flags;
    return 0;
}

int cuda_shim_load(const char *library, const char **why) {
    if (!handle) {
        handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            *why = dlerror();
            return CUDA_SHIM_NO_LIBRARY;
        }
        *(void **)&real_init = dlsym(handle, "cuInit");
        for (unsigned i = 0; i < count; i++) {
            void *found = dlsym(handle, symbols[i].name);
            *symbols[i].to = found ? found : (void *)missing;
        }
    }
    return real_init ? real_init(0) : CUDA_SHIM_NO_INIT;
}

const char *cuda_shim_missing(unsigned i) {
    for (unsigned s = 0; handle && s < count; s++)
        if (*symbols[s].to == (void *)missing && i-- == 0) return symbols[s].name;
    return 0;
}
