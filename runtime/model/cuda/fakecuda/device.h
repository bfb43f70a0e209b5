// The fake device: contexts, memory, modules, work that waits. driver.cpp has the functions of libcuda
// over it, all of which hold one lock.
#pragma once
#include "fiber.h"

#include <cuda.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

struct CUstream_st {
    CUcontext owner;
};

struct CUfunc_st {
    CUcontext owner;
    const fakecuda::Kernel *kernel;
    size_t shared; // static, bytes
};

struct CUmod_st {
    CUcontext owner;
    std::map<std::string, CUfunc_st> functions;
};

struct CUctx_st {
    std::deque<std::function<CUresult()>> work; // launches and copies that nobody waited for yet
    std::set<CUmodule> modules;
    std::set<CUstream> streams;
    int64_t launches, copies, allocations, peak_bytes; // since it was made
};

namespace fakecuda {

// ---- Memory (memory.cpp)

CUresult allocate(CUcontext owner, CUdeviceptr *at, size_t bytes);
CUresult release(CUcontext owner, CUdeviceptr at);
void release_all(CUcontext owner);
int64_t used_bytes(CUcontext owner); // of all contexts where owner is null
int64_t live_allocations(CUcontext owner);
int64_t memory_bytes(); // of the device
// Whether the bytes lie inside one allocation of the context; says so where not.
bool inside(const char *call, CUcontext owner, CUdeviceptr at, size_t bytes);
// Makes the context's memory reachable, and no other's.
void activate(CUcontext context);
// Whether nobody wrote beside an allocation; says where.
bool guards_whole(const char *after);

// ---- Modules (module.cpp)

CUresult load_module(CUcontext owner, const std::string &ptx, CUmod_st &module);
int driver_version();
int capability(); // 90 is 9.0

// ---- Work (work.cpp)

extern CUresult sticky; // of the whole process: what CUDA says only a new process mends
bool is_sticky(CUresult code);
CUresult run_work(CUcontext context); // all that waits; the sticky error if there is one
CUresult queue_launch(CUcontext context, CUfunction function, Dim grid, Dim block, size_t shared, void **arguments);
const char *error_name(CUresult code); // null for one that the fake does not know

} // namespace fakecuda
