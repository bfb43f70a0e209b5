// The functions of libcuda that are faked. One lock is held through each, kernels included.
#include "device.h"
#include "report.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace fakecuda;

#define API extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

namespace {

std::mutex &lock = *new std::mutex; // never destroyed: a thread may still be inside at exit
bool initialized;
std::set<CUcontext> &contexts = *new std::set<CUcontext>;
thread_local std::vector<CUcontext> stack; // of current contexts

enum class Needs { nothing, init, context };

// One call of the driver: holds the lock, and knows what forbids it.
class Call {
public:
    Call(const char *name, Needs needs, const std::string &detail = "") : name_(name), needs_(needs), detail_(detail), held_(lock) {}

    CUresult refused() const {
        if (needs_ != Needs::nothing && !initialized) return CUDA_ERROR_NOT_INITIALIZED;
        if (const int code = injected(name_, detail_)) {
            if (is_sticky(static_cast<CUresult>(code))) sticky = static_cast<CUresult>(code);
            return static_cast<CUresult>(code);
        }
        if (needs_ == Needs::context && (stack.empty() || !contexts.count(stack.back()))) {
            say("%s: this thread has no current context", name_);
            return CUDA_ERROR_INVALID_CONTEXT;
        }
        return needs_ == Needs::nothing ? CUDA_SUCCESS : sticky;
    }

private:
    const char *name_;
    Needs needs_;
    std::string detail_;
    std::lock_guard<std::mutex> held_;
};

#define BEGIN(...)                                   \
    const Call call(__VA_ARGS__);                    \
    if (const CUresult refused = call.refused()) return refused

CUcontext current() { return stack.back(); }

template <class Handle> bool owned(const char *name, Handle handle) {
    if (handle && handle->owner == current()) return true;
    say("%s: the handle belongs to another context", name);
    return false;
}

// The null stream is every context's.
bool usable(const char *name, CUstream stream) { return !stream || owned(name, stream); }

void *host(CUdeviceptr at) { return reinterpret_cast<void *>(at); }

// A line a context, for tests that ask what was left.
void report(CUcontext context) {
    const char *name = getenv("FAKECUDA_REPORT");
    if (!name || !*name) return;
    FILE *file = fopen(name, "a");
    if (!file) die("FAKECUDA_REPORT=%s cannot be written", name);
    fprintf(file, "{\"left_allocations\": %lld, \"left_bytes\": %lld, \"left_modules\": %zu, \"left_streams\": %zu, \"launches\": %lld, \"copies\": %lld, \"allocations\": %lld, \"peak_bytes\": %lld}\n",
        static_cast<long long>(live_allocations(context)), static_cast<long long>(used_bytes(context)), context->modules.size(), context->streams.size(),
        static_cast<long long>(context->launches), static_cast<long long>(context->copies), static_cast<long long>(context->allocations), static_cast<long long>(context->peak_bytes));
    fclose(file);
}

} // namespace

// ---- The driver and its devices

API cuInit(unsigned flags) {
    BEGIN("cuInit", Needs::nothing);
    if (flags) return CUDA_ERROR_INVALID_VALUE;
    if (setting("FAKECUDA_DEVICES", 1) == 0) return CUDA_ERROR_NO_DEVICE;
    if (!initialized) catch_faults();
    initialized = true;
    return CUDA_SUCCESS;
}

API cuDriverGetVersion(int *version) {
    BEGIN("cuDriverGetVersion", Needs::nothing);
    *version = driver_version();
    return CUDA_SUCCESS;
}

API cuGetErrorName(CUresult code, const char **name) {
    *name = error_name(code);
    return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

API cuDeviceGetCount(int *count) {
    BEGIN("cuDeviceGetCount", Needs::init);
    *count = static_cast<int>(setting("FAKECUDA_DEVICES", 1));
    return CUDA_SUCCESS;
}

API cuDeviceGet(CUdevice *device, int ordinal) {
    BEGIN("cuDeviceGet", Needs::init);
    if (ordinal < 0 || ordinal >= setting("FAKECUDA_DEVICES", 1)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

API cuDeviceGetName(char *name, int bytes, CUdevice) {
    BEGIN("cuDeviceGetName", Needs::init);
    snprintf(name, bytes, "fakecuda (this machine's CPU)");
    return CUDA_SUCCESS;
}

API cuDeviceTotalMem(size_t *bytes, CUdevice) {
    BEGIN("cuDeviceTotalMem", Needs::init);
    *bytes = memory_bytes();
    return CUDA_SUCCESS;
}

API cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
    BEGIN("cuDeviceGetAttribute", Needs::init);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability() / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability() % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = 1024; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *value = 48 * 1024; break;
    default: say("cuDeviceGetAttribute: attribute %d is not faked", attribute); return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

// ---- Contexts

API cuCtxCreate(CUcontext *context, unsigned, CUdevice device) {
    BEGIN("cuCtxCreate", Needs::init);
    if (device < 0 || device >= setting("FAKECUDA_DEVICES", 1)) return CUDA_ERROR_INVALID_DEVICE;
    *context = new CUctx_st{};
    contexts.insert(*context);
    stack.push_back(*context);
    return CUDA_SUCCESS;
}

API cuCtxDestroy(CUcontext context) {
    const Call call("cuCtxDestroy", Needs::init);
    const CUresult refused = call.refused(); // a lost context is destroyed all the same
    if (!contexts.count(context)) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult late = run_work(context);
    report(context);
    release_all(context);
    for (CUmodule module : context->modules) delete module;
    for (CUstream stream : context->streams) delete stream;
    contexts.erase(context);
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    delete context;
    return refused ? refused : late;
}

API cuCtxSetCurrent(CUcontext context) {
    BEGIN("cuCtxSetCurrent", Needs::init);
    if (context && !contexts.count(context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (context) stack.push_back(context);
    return CUDA_SUCCESS;
}

API cuCtxGetCurrent(CUcontext *context) {
    BEGIN("cuCtxGetCurrent", Needs::init);
    *context = stack.empty() ? nullptr : stack.back();
    return CUDA_SUCCESS;
}

API cuCtxSynchronize() {
    BEGIN("cuCtxSynchronize", Needs::context);
    return run_work(current());
}

// ---- Memory

API cuMemGetInfo(size_t *free, size_t *total) {
    BEGIN("cuMemGetInfo", Needs::context);
    *total = memory_bytes();
    *free = memory_bytes() - used_bytes(nullptr);
    return CUDA_SUCCESS;
}

API cuMemAlloc(CUdeviceptr *at, size_t bytes) {
    BEGIN("cuMemAlloc", Needs::context);
    return allocate(current(), at, bytes);
}

API cuMemFree(CUdeviceptr at) {
    BEGIN("cuMemFree", Needs::context);
    if (const CUresult r = run_work(current())) return r;
    const CUresult r = release(current(), at);
    if (is_sticky(r)) sticky = r;
    return r;
}

// The source is pageable memory: it is read before the call returns.
API cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
    BEGIN("cuMemcpyHtoDAsync", Needs::context);
    if (!usable("cuMemcpyHtoDAsync", stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!inside("cuMemcpyHtoDAsync", current(), to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    const unsigned char *bytes_of = static_cast<const unsigned char *>(from);
    current()->copies++;
    current()->work.push_back([to, staged = std::vector<unsigned char>(bytes_of, bytes_of + bytes)] {
        memcpy(host(to), staged.data(), staged.size());
        return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
}

API cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
    BEGIN("cuMemcpyHtoD", Needs::context);
    if (!inside("cuMemcpyHtoD", current(), to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult r = run_work(current())) return r;
    activate(current());
    current()->copies++;
    memcpy(host(to), from, bytes);
    return CUDA_SUCCESS;
}

static CUresult copy_to_host(const char *name, void *to, CUdeviceptr from, size_t bytes) {
    if (!inside(name, current(), from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult r = run_work(current())) return r;
    activate(current());
    current()->copies++;
    memcpy(to, host(from), bytes);
    return CUDA_SUCCESS;
}

API cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
    BEGIN("cuMemcpyDtoH", Needs::context);
    return copy_to_host("cuMemcpyDtoH", to, from, bytes);
}

// The target is pageable memory: the copy is over when the call returns.
API cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN("cuMemcpyDtoHAsync", Needs::context);
    if (!usable("cuMemcpyDtoHAsync", stream)) return CUDA_ERROR_INVALID_HANDLE;
    return copy_to_host("cuMemcpyDtoHAsync", to, from, bytes);
}

API cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
    BEGIN("cuMemcpyDtoDAsync", Needs::context);
    if (!usable("cuMemcpyDtoDAsync", stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!inside("cuMemcpyDtoDAsync", current(), to, bytes) || !inside("cuMemcpyDtoDAsync", current(), from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    current()->copies++;
    current()->work.push_back([=] {
        memmove(host(to), host(from), bytes);
        return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
}

API cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
    BEGIN("cuMemsetD8Async", Needs::context);
    if (!usable("cuMemsetD8Async", stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (!inside("cuMemsetD8Async", current(), to, bytes)) return CUDA_ERROR_INVALID_VALUE;
    current()->work.push_back([=] {
        memset(host(to), value, bytes);
        return CUDA_SUCCESS;
    });
    return CUDA_SUCCESS;
}

// ---- Streams, all of which are one queue

API cuStreamCreate(CUstream *stream, unsigned) {
    BEGIN("cuStreamCreate", Needs::context);
    *stream = new CUstream_st{current()};
    current()->streams.insert(*stream);
    return CUDA_SUCCESS;
}

API cuStreamDestroy(CUstream stream) {
    BEGIN("cuStreamDestroy", Needs::context);
    if (!owned("cuStreamDestroy", stream)) return CUDA_ERROR_INVALID_HANDLE;
    current()->streams.erase(stream);
    delete stream;
    return CUDA_SUCCESS;
}

API cuStreamSynchronize(CUstream stream) {
    BEGIN("cuStreamSynchronize", Needs::context);
    if (!usable("cuStreamSynchronize", stream)) return CUDA_ERROR_INVALID_HANDLE;
    return run_work(current());
}

// ---- Modules and kernels

API cuModuleLoadData(CUmodule *module, const void *image) {
    BEGIN("cuModuleLoadData", Needs::context);
    CUmod_st *loaded = new CUmod_st;
    if (const CUresult r = load_module(current(), static_cast<const char *>(image), *loaded)) {
        delete loaded;
        return r;
    }
    current()->modules.insert(loaded);
    *module = loaded;
    return CUDA_SUCCESS;
}

API cuModuleUnload(CUmodule module) {
    BEGIN("cuModuleUnload", Needs::context);
    if (!owned("cuModuleUnload", module)) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult r = run_work(current())) return r;
    current()->modules.erase(module);
    delete module;
    return CUDA_SUCCESS;
}

API cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    BEGIN("cuModuleGetFunction", Needs::context, name);
    if (!owned("cuModuleGetFunction", module)) return CUDA_ERROR_INVALID_HANDLE;
    const auto found = module->functions.find(name);
    if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
    *function = &found->second;
    return CUDA_SUCCESS;
}

API cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void **arguments, void **extra) {
    BEGIN("cuLaunchKernel", Needs::context, function ? function->kernel->name : "");
    if (!owned("cuLaunchKernel", function) || !usable("cuLaunchKernel", stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (extra) return CUDA_ERROR_INVALID_VALUE;
    return queue_launch(current(), function, {gx, gy, gz}, {bx, by, bz}, shared, arguments);
}
