// The machine that runs kernels: fibers, barriers, warps. host.h is the kernels' side of it, driver.cpp
// the driver's.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fakecuda {

struct Dim {
    unsigned x, y, z;
};

// A place in a kernel's source at which threads meet.
struct Site {
    const char *what;
    const char *file;
    int line;
    bool operator==(const Site &other) const { return line == other.line && file == other.file && what == other.what; }
};

// What a kernel may read of the fiber that runs it.
struct Thread {
    Dim thread;
    int index; // in the block
};

extern Thread *running;
extern Dim block_index, block_size, grid_size;
extern unsigned char *dynamic_shared;

constexpr size_t lane_bytes = 64; // that a lane may show in a warp operation

void block_barrier(Site site);
// Waits until every lane of the mask that has not exited is at this site; then each lane's value is in
// lane_value until the lane's next operation.
void warp_meet(unsigned mask, const void *value, size_t bytes, Site site);
const void *lane_value(int lane);
bool lane_present(int lane); // whether it took part in the warp's last operation
[[noreturn]] void trap(const char *what, const char *file, int line);

struct Kernel {
    const char *name;
    const char *hash; // of its source
    std::vector<int> sizes; // of its parameters, bytes
    void (*call)(void **arguments);
};

void register_kernel(const Kernel &kernel);
const Kernel *find_kernel(const std::string &name);

enum class Outcome { done, illegal_address, misaligned, assertion, failed };

// Shared memory that a launch gives each block, in bytes.
struct Shared {
    size_t dynamic, fixed; // fixed: declared in the kernel with its size
};

// Runs all blocks, in the order that FAKECUDA_ORDER says; what went wrong is in message.
Outcome launch(const Kernel &kernel, Dim grid, Dim block, Shared shared, void **arguments, std::string &message);

// Hands SIGSEGV and SIGBUS of kernels to launch; everybody else's go where they went before.
void catch_faults();

} // namespace fakecuda
