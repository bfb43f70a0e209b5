// Allocations. Each has pages of its own with an unreachable one on either side, ends at most 15 bytes
// before the second, and is full of ones (NaN as float32 and as bf16) when it is fresh. Addresses are
// not used twice. What lies in the same pages beside an allocation keeps a pattern that is looked at
// after every launch, up to 64 bytes before it.
#include "device.h"
#include "report.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace fakecuda {
namespace {

constexpr size_t page = 4096, alignment = 16, guard = 64;
constexpr unsigned char pattern = 0xa5;
constexpr size_t address_space = size_t(256) << 30;

struct Allocation {
    size_t bytes;
    CUcontext owner;
    unsigned char *first_page;
    size_t page_bytes;
};

std::map<CUdeviceptr, Allocation> &live() {
    static auto &all = *new std::map<CUdeviceptr, Allocation>;
    return all;
}

unsigned char *next_page, *last_page;
CUcontext active;

bool reserve() {
    if (next_page) return true;
    void *space = mmap(nullptr, address_space, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return false;
    next_page = static_cast<unsigned char *>(space);
    last_page = next_page + address_space;
    return true;
}

unsigned char *pointer(CUdeviceptr at) { return reinterpret_cast<unsigned char *>(at); }

bool is_whole(CUdeviceptr at, const Allocation &a) {
    const unsigned char *begin = pointer(at), *end = begin + a.bytes;
    const unsigned char *low = std::max(a.first_page, pointer(at) - guard), *high = a.first_page + a.page_bytes;
    const auto intact = [](unsigned char c) { return c == pattern; };
    return std::all_of(low, begin, intact) && std::all_of(end, high, intact);
}

void protect(const Allocation &a, int access) {
    if (mprotect(a.first_page, a.page_bytes, access)) die("mprotect of %zu bytes failed", a.page_bytes);
}

} // namespace

int64_t memory_bytes() { return setting("FAKECUDA_MEMORY", int64_t(8) << 30); }

int64_t used_bytes(CUcontext owner) {
    int64_t sum = 0;
    for (const auto &[at, a] : live())
        if (!owner || a.owner == owner) sum += a.bytes;
    return sum;
}

int64_t live_allocations(CUcontext owner) {
    int64_t count = 0;
    for (const auto &[at, a] : live()) count += a.owner == owner;
    return count;
}

CUresult allocate(CUcontext owner, CUdeviceptr *at, size_t bytes) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (bytes > size_t(memory_bytes()) || used_bytes(nullptr) + int64_t(bytes) > memory_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
    const size_t room = (bytes + alignment - 1) / alignment * alignment, pages = (room + page - 1) / page * page;
    if (!reserve() || pages + 2 * page > size_t(last_page - next_page)) return CUDA_ERROR_OUT_OF_MEMORY;
    const Allocation a = {bytes, owner, next_page + page, pages};
    next_page += pages + 2 * page;
    activate(owner);
    protect(a, PROT_READ | PROT_WRITE);
    memset(a.first_page, pattern, pages);
    unsigned char *begin = a.first_page + pages - room;
    memset(begin, 0xff, bytes);
    *at = reinterpret_cast<CUdeviceptr>(begin);
    live()[*at] = a;
    owner->allocations++;
    owner->peak_bytes = std::max(owner->peak_bytes, used_bytes(owner));
    return CUDA_SUCCESS;
}

static void give_back(const Allocation &a) {
    madvise(a.first_page, a.page_bytes, MADV_DONTNEED);
    protect(a, PROT_NONE);
}

CUresult release(CUcontext owner, CUdeviceptr at) {
    const auto found = live().find(at);
    if (found == live().end() || found->second.owner != owner) {
        say("cuMemFree: %#llx is no allocation of this context", static_cast<unsigned long long>(at));
        return CUDA_ERROR_INVALID_VALUE;
    }
    activate(owner);
    const bool whole = is_whole(at, found->second);
    if (!whole) say("cuMemFree: an allocation of %zu bytes was written beside", found->second.bytes);
    give_back(found->second);
    live().erase(found);
    return whole ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

void release_all(CUcontext owner) {
    for (auto it = live().begin(); it != live().end();) {
        if (it->second.owner == owner) {
            give_back(it->second);
            it = live().erase(it);
        } else ++it;
    }
    if (active == owner) active = nullptr;
}

bool inside(const char *call, CUcontext owner, CUdeviceptr at, size_t bytes) {
    auto it = live().upper_bound(at);
    if (it != live().begin()) {
        --it;
        const size_t from = at - it->first;
        if (it->second.owner == owner && from <= it->second.bytes && bytes <= it->second.bytes - from) return true;
    }
    say("%s: %zu bytes at %#llx are not inside an allocation of this context: %s", call, bytes, static_cast<unsigned long long>(at), describe_address(at).c_str());
    return false;
}

void activate(CUcontext context) {
    if (active == context) return;
    for (const auto &[at, a] : live()) {
        if (a.owner == active) protect(a, PROT_NONE);
        if (a.owner == context) protect(a, PROT_READ | PROT_WRITE);
    }
    active = context;
}

bool guards_whole(const char *after) {
    for (const auto &[at, a] : live()) {
        if (a.owner != active || is_whole(at, a)) continue;
        say("%s: wrote beside an allocation of %zu bytes", after, a.bytes);
        return false;
    }
    return true;
}

std::string describe_address(uintptr_t address) {
    char text[160];
    snprintf(text, sizeof text, "address %#llx lies in no allocation", static_cast<unsigned long long>(address));
    auto next = live().upper_bound(address);
    if (next != live().begin()) {
        const auto &[at, a] = *std::prev(next);
        if (address < at + a.bytes)
            snprintf(text, sizeof text, "byte %llu of an allocation of %zu bytes%s", static_cast<unsigned long long>(address - at), a.bytes, a.owner == active ? "" : ", of another context");
        else if (address < at + a.bytes + page)
            snprintf(text, sizeof text, "%llu bytes behind the end of an allocation of %zu bytes", static_cast<unsigned long long>(address - at - a.bytes), a.bytes);
    } else if (next != live().end() && address + page > next->first) {
        snprintf(text, sizeof text, "%llu bytes before an allocation of %zu bytes", static_cast<unsigned long long>(next->first - address), next->second.bytes);
    }
    return text;
}

} // namespace fakecuda
