// Work that waits: launches and asynchronous copies run when somebody waits for them, as late as a
// device could, on the thread that waits.
#include "device.h"
#include "report.h"

#include <cstring>

namespace fakecuda {

CUresult sticky = CUDA_SUCCESS;

namespace {
struct Name {
    CUresult code;
    const char *name;
};
#define NAME(code) {code, #code}
constexpr Name names[] = {
    NAME(CUDA_SUCCESS), NAME(CUDA_ERROR_INVALID_VALUE), NAME(CUDA_ERROR_OUT_OF_MEMORY), NAME(CUDA_ERROR_NOT_INITIALIZED), NAME(CUDA_ERROR_DEINITIALIZED),
    NAME(CUDA_ERROR_NO_DEVICE), NAME(CUDA_ERROR_INVALID_DEVICE), NAME(CUDA_ERROR_INVALID_IMAGE), NAME(CUDA_ERROR_INVALID_CONTEXT),
    NAME(CUDA_ERROR_NO_BINARY_FOR_GPU), NAME(CUDA_ERROR_ECC_UNCORRECTABLE), NAME(CUDA_ERROR_INVALID_PTX), NAME(CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
    NAME(CUDA_ERROR_INVALID_SOURCE), NAME(CUDA_ERROR_OPERATING_SYSTEM), NAME(CUDA_ERROR_INVALID_HANDLE), NAME(CUDA_ERROR_NOT_FOUND),
    NAME(CUDA_ERROR_NOT_READY), NAME(CUDA_ERROR_ILLEGAL_ADDRESS), NAME(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES), NAME(CUDA_ERROR_LAUNCH_TIMEOUT),
    NAME(CUDA_ERROR_CONTEXT_IS_DESTROYED), NAME(CUDA_ERROR_ASSERT), NAME(CUDA_ERROR_HARDWARE_STACK_ERROR), NAME(CUDA_ERROR_ILLEGAL_INSTRUCTION),
    NAME(CUDA_ERROR_MISALIGNED_ADDRESS), NAME(CUDA_ERROR_INVALID_ADDRESS_SPACE), NAME(CUDA_ERROR_INVALID_PC), NAME(CUDA_ERROR_LAUNCH_FAILED),
    NAME(CUDA_ERROR_NOT_PERMITTED), NAME(CUDA_ERROR_NOT_SUPPORTED), NAME(CUDA_ERROR_SYSTEM_NOT_READY), NAME(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH),
    NAME(CUDA_ERROR_UNKNOWN),
};
#undef NAME
} // namespace

const char *error_name(CUresult code) {
    for (const Name &one : names)
        if (one.code == code) return one.name;
    return nullptr;
}

// What cuda.h says of these: the process must be ended and started again.
bool is_sticky(CUresult code) {
    switch (code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
        return true;
    default:
        return false;
    }
}

CUresult run_work(CUcontext context) {
    while (!context->work.empty() && sticky == CUDA_SUCCESS) {
        const auto work = std::move(context->work.front());
        context->work.pop_front();
        activate(context);
        if (const CUresult r = work()) {
            if (!is_sticky(r)) return r;
            sticky = r;
        }
    }
    if (sticky) context->work.clear();
    return sticky;
}

static CUresult run_kernel(const Kernel &kernel, Dim grid, Dim block, Shared shared, std::vector<uint64_t> arguments) {
    if (const int code = injected("kernel", kernel.name)) return static_cast<CUresult>(code);
    std::vector<void *> pointers;
    for (uint64_t &argument : arguments) pointers.push_back(&argument);
    std::string message;
    const Outcome outcome = launch(kernel, grid, block, shared, pointers.data(), message);
    if (outcome != Outcome::done) say("%s", message.c_str());
    switch (outcome) {
    case Outcome::done: return guards_whole(kernel.name) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    case Outcome::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case Outcome::misaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case Outcome::assertion: return CUDA_ERROR_ASSERT;
    case Outcome::failed: break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

// The values of the arguments are read now, as the driver does.
CUresult queue_launch(CUcontext context, CUfunction function, Dim grid, Dim block, size_t shared, void **arguments) {
    const Kernel &kernel = *function->kernel;
    const uint64_t in_block = uint64_t(block.x) * block.y * block.z, blocks = uint64_t(grid.x) * grid.y * grid.z;
    const bool fits = in_block >= 1 && in_block <= 1024 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && blocks >= 1 && blocks < (1u << 30) &&
                      grid.y <= 65535 && grid.z <= 65535 && shared + function->shared <= 48 * 1024;
    if (!fits || (!arguments && !kernel.sizes.empty())) {
        say("cuLaunchKernel: %s: grid %u,%u,%u, block %u,%u,%u, shared memory %zu and %zu bytes: want at most 1024 threads, 49152 bytes, a grid of at most 2^30 blocks, 65535 in y and z",
            kernel.name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, function->shared);
        return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<uint64_t> values;
    for (size_t i = 0; i < kernel.sizes.size(); i++) {
        if (kernel.sizes[i] > 8) return CUDA_ERROR_INVALID_VALUE;
        uint64_t value = 0;
        memcpy(&value, arguments[i], kernel.sizes[i]);
        values.push_back(value);
    }
    context->launches++;
    context->work.push_back([=] { return run_kernel(*function->kernel, grid, block, {shared, function->shared}, values); });
    return CUDA_SUCCESS;
}

} // namespace fakecuda
