// Runs the blocks of a launch, one thread a fiber.
#include "fiber.h"
#include "order.h"
#include "report.h"
#include "swap.h"

#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <pthread.h>
#include <sys/mman.h>

namespace fakecuda {

Thread *running;
Dim block_index, block_size, grid_size;
unsigned char *dynamic_shared;

namespace {

constexpr int max_threads = 1024;
constexpr size_t stack_bytes = 64 << 10, guard_bytes = 4096;

enum class State { ready, at_barrier, at_warp, exited };

struct Fiber : Thread {
    State state;
    Site site;
    unsigned mask; // of the warp operation it is or was in
    const void *value;
    size_t bytes;
    char *stack; // its top; null until the thread begins and after its end
    void *stack_pointer;
};

struct Slot {
    alignas(16) unsigned char value[lane_bytes];
    bool present;
};

Fiber fibers[max_threads];
Slot slots[max_threads];
unsigned char ones[lane_bytes]; // what lane_value gives of a lane that is not there
char *stacks[max_threads]; // the tops of those that nobody has, the last of them being the next
int free_stacks;
int threads; // of the block
void *scheduler_stack;
void (*kernel_call)(void **);
void **kernel_arguments;
std::string failure;
Outcome outcome;

// ---- Switching

// The lanes of the warp that runs, in their order, and how many of them had their turn.
Fiber *turns[32];
int lanes, turn;

Fiber *next_ready() {
    while (turn < lanes) {
        Fiber *fiber = turns[turn++];
        if (fiber->state == State::ready) return fiber;
    }
    return nullptr;
}

void enter();

// A thread gets a stack when it begins and gives it back at its end, so threads that never wait all run on
// the same, which stays in the cache.
void begin(Fiber *fiber) {
    running = fiber;
    if (fiber->stack) return;
    fiber->stack = stacks[--free_stacks];
    fiber->stack_pointer = fresh_stack(fiber->stack, enter);
}

void leave(Fiber *fiber) { fakecuda_swap(&fiber->stack_pointer, scheduler_stack); }

// Waits, and lets the next lane run without asking the scheduler.
void yield(Fiber *fiber) {
    Fiber *next = next_ready();
    if (!next) return leave(fiber);
    begin(next);
    fakecuda_swap(&fiber->stack_pointer, next->stack_pointer);
}

// Runs lanes until one exits or none is left. The stack of one that exits is given back here and not by
// itself, who stands on it.
void run_lanes(Fiber *first) {
    begin(first);
    fakecuda_swap(&scheduler_stack, first->stack_pointer);
    Fiber *last = static_cast<Fiber *>(running);
    if (last->state != State::exited) return;
    stacks[free_stacks++] = last->stack;
    last->stack = nullptr;
}

void enter() {
    kernel_call(kernel_arguments);
    Fiber *fiber = static_cast<Fiber *>(running);
    fiber->state = State::exited;
    leave(fiber);
    abort();
}

// All stacks, none of which is in use. Their tops lie at different places of a page: at one they would all
// want the same lines of the cache.
void reset_stacks() {
    constexpr size_t each = stack_bytes + guard_bytes, shift = 192;
    static char *memory;
    if (!memory) {
        void *got = mmap(nullptr, max_threads * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) die("no memory for the stacks of %d threads", max_threads);
        memory = static_cast<char *>(got);
        for (int i = 0; i < max_threads; i++) mprotect(memory + i * each, guard_bytes, PROT_NONE);
    }
    for (int i = 0; i < max_threads; i++) stacks[i] = memory + (i + 1) * each - i * shift % 4096;
    free_stacks = max_threads;
    for (Fiber &fiber : fibers) fiber.stack = nullptr;
}

// ---- Meeting

std::string where(const Fiber &fiber) {
    const std::string name = "thread " + std::to_string(fiber.index);
    if (fiber.state == State::exited) return name + " has exited";
    const char *slash = strrchr(fiber.site.file, '/');
    return name + " is at " + fiber.site.what + " in " + (slash ? slash + 1 : fiber.site.file) + ":" + std::to_string(fiber.site.line);
}

bool fail(const std::string &message) {
    failure = message;
    outcome = Outcome::failed;
    return false;
}

// Lets the lanes of a meeting go on if all are there. False is a fault in the kernel.
bool release(Fiber *warp, Fiber &first, bool &released) {
    const unsigned mask = first.mask;
    if (!(mask >> (first.index & 31) & 1)) return fail(where(first) + ", whose mask lacks the thread itself");
    for (int l = 0; l < lanes; l++) {
        Fiber &fiber = warp[l];
        if (!(mask >> l & 1) || fiber.state == State::exited) continue;
        if (fiber.state != State::at_warp) return true; // not there yet, or never
        if (fiber.mask != mask || !(fiber.site == first.site)) return fail(where(first) + ", " + where(fiber) + ": one warp operation, expected one place and one mask");
    }
    Slot *slot = slots + (first.index & ~31);
    for (int l = 0; l < 32; l++) {
        if (!(mask >> l & 1)) continue;
        slot[l].present = l < lanes && warp[l].state == State::at_warp;
        if (!slot[l].present) continue;
        if (warp[l].bytes) memcpy(slot[l].value, warp[l].value, warp[l].bytes);
        warp[l].state = State::ready;
    }
    released = true;
    return true;
}

// Runs the lanes of a warp until each has exited or waits for other warps, or for lanes that do not come.
bool run_warp(int warp) {
    Fiber *first = fibers + warp * 32;
    lanes = std::min(32, threads - warp * 32);
    for (bool released = true; released;) {
        int place = 0;
        in_order(lanes, [&](int l) { turns[place++] = first + l; });
        turn = 0;
        while (Fiber *next = next_ready()) {
            run_lanes(next);
            if (outcome != Outcome::done) return false;
        }
        released = false;
        for (int l = 0; l < lanes; l++)
            if (first[l].state == State::at_warp && !release(first, first[l], released)) return false;
    }
    return true;
}

// All threads that have not exited must be at one barrier.
bool meet_at_barrier(bool &all_exited) {
    Fiber *waiting = nullptr;
    for (Fiber *f = fibers; f < fibers + threads; f++) {
        if (f->state == State::exited) continue;
        if (!waiting || (f->state == State::at_warp && waiting->state != State::at_warp)) waiting = f;
    }
    all_exited = !waiting;
    if (all_exited) return true;
    for (Fiber *f = fibers; f < fibers + threads; f++)
        if (f->state != waiting->state || !(f->site == waiting->site)) return fail("divergence: " + where(*waiting) + ", " + where(*f));
    if (waiting->state == State::at_warp) return fail("divergence: " + where(*waiting) + " and waits for lanes that are elsewhere");
    for (Fiber *f = fibers; f < fibers + threads; f++) f->state = State::ready;
    return true;
}

bool run_block() {
    for (int i = 0; i < threads; i++) {
        Fiber &fiber = fibers[i];
        const unsigned u = i;
        fiber.thread = {u % block_size.x, u / block_size.x % block_size.y, u / (block_size.x * block_size.y)};
        fiber.index = i;
        fiber.state = State::ready;
    }
    const int warps = (threads + 31) / 32;
    for (bool all_exited = false; !all_exited;) {
        bool well = true;
        in_order(warps, [&](int w) { well = well && run_warp(w); });
        if (!well || !meet_at_barrier(all_exited)) return false;
    }
    return true;
}

std::string text(Dim d) { return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z); }

std::string place(const Kernel &kernel) { return std::string(kernel.name) + ": block " + text(block_index); }

// ---- Faults

sigjmp_buf fault_jump;
volatile sig_atomic_t in_kernel;
volatile int fault_signal;
void *volatile fault_address;
pthread_t kernel_thread;
constexpr int fault_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
struct sigaction before[64];

void on_fault(int signal, siginfo_t *info, void *context) {
    if (in_kernel && pthread_equal(pthread_self(), kernel_thread)) {
        fault_signal = signal;
        fault_address = info->si_addr;
        siglongjmp(fault_jump, 1);
    }
    struct sigaction &old = before[signal];
    if (old.sa_flags & SA_SIGINFO) {
        old.sa_sigaction(signal, info, context);
        return;
    }
    sigaction(signal, &old, nullptr);
    raise(signal);
}

void describe_fault(const Kernel &kernel) {
    const std::string thread = place(kernel) + ", thread " + text(running->thread);
    switch (fault_signal) {
    case SIGILL: // of -fsanitize=alignment
        outcome = Outcome::misaligned;
        failure = thread + ": a pointer is not aligned as its type asks";
        return;
    case SIGFPE:
        outcome = Outcome::failed;
        failure = thread + ": an integer is divided by 0";
        return;
    }
    outcome = Outcome::illegal_address;
    failure = thread + ": " + describe_address(reinterpret_cast<uintptr_t>(fault_address));
}

std::map<std::string, Kernel> &kernels() {
    static std::map<std::string, Kernel> all;
    return all;
}

} // namespace

void block_barrier(Site site) {
    Fiber *fiber = static_cast<Fiber *>(running);
    fiber->state = State::at_barrier;
    fiber->site = site;
    yield(fiber);
}

void warp_meet(unsigned mask, const void *value, size_t bytes, Site site) {
    Fiber *fiber = static_cast<Fiber *>(running);
    fiber->state = State::at_warp;
    fiber->site = site;
    fiber->mask = mask;
    fiber->value = value;
    fiber->bytes = bytes;
    yield(fiber);
}

bool lane_present(int lane) {
    const Fiber *fiber = static_cast<Fiber *>(running);
    return lane >= 0 && lane < 32 && (fiber->mask >> lane & 1) && slots[(fiber->index & ~31) + lane].present;
}

const void *lane_value(int lane) {
    return lane_present(lane) ? slots[(running->index & ~31) + lane].value : ones;
}

void trap(const char *what, const char *file, int line) {
    Fiber *fiber = static_cast<Fiber *>(running);
    fiber->site = {what, file, line};
    failure = where(*fiber);
    outcome = Outcome::assertion;
    leave(fiber);
    abort();
}

void register_kernel(const Kernel &kernel) {
    if (!kernels().emplace(kernel.name, kernel).second) die("two kernels are called %s", kernel.name);
}

const Kernel *find_kernel(const std::string &name) {
    const auto found = kernels().find(name);
    return found == kernels().end() ? nullptr : &found->second;
}

void catch_faults() {
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    for (int signal : fault_signals) sigaction(signal, &ours, &before[signal]);
}

// The section of the static shared memory of all kernels, which the linker bounds.
extern "C" {
extern unsigned char __start_fakecuda_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_fakecuda_shared[] __attribute__((weak, visibility("hidden")));
}

Outcome launch(const Kernel &kernel, Dim grid, Dim block, Shared shared, void **arguments, std::string &message) {
    reset_stacks();
    read_order();
    memset(ones, 0xff, sizeof ones);
    static std::vector<unsigned char> memory(48 * 1024 + 16);
    dynamic_shared = reinterpret_cast<unsigned char *>((reinterpret_cast<uintptr_t>(memory.data()) + 15) & ~uintptr_t(15));
    kernel_call = kernel.call;
    kernel_arguments = arguments;
    grid_size = grid;
    block_size = block;
    threads = static_cast<int>(block.x * block.y * block.z);
    outcome = Outcome::done;
    kernel_thread = pthread_self();
    if (sigsetjmp(fault_jump, 1) == 0) {
        in_kernel = 1;
        const uint64_t blocks = static_cast<uint64_t>(grid.x) * grid.y * grid.z;
        in_order(static_cast<int>(blocks), [&](int i) {
            if (outcome != Outcome::done) return;
            block_index = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
            memset(dynamic_shared, 0xff, shared.dynamic);
            if (shared.fixed) memset(__start_fakecuda_shared, 0xff, __stop_fakecuda_shared - __start_fakecuda_shared);
            if (!run_block()) failure = place(kernel) + ": " + failure;
        });
    } else {
        describe_fault(kernel);
    }
    in_kernel = 0;
    if (outcome != Outcome::done) message = failure;
    return outcome;
}

} // namespace fakecuda
