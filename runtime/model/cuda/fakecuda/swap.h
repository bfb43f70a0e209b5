// Leaves one stack for another: what the calling convention keeps across calls goes onto the old one,
// whose pointer is stored, and comes from the new one. Signal masks and floating-point modes are not
// touched, which is what makes it cheaper than ucontext.
#pragma once

extern "C" void fakecuda_swap(void **save, void *load);

#if defined(__x86_64__)
constexpr int swap_slots = 6; // below the return address
asm(R"(
.text
.globl fakecuda_swap
.hidden fakecuda_swap
.type fakecuda_swap,@function
fakecuda_swap:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
.size fakecuda_swap, .-fakecuda_swap
)");

// A stack that fakecuda_swap enters at a function, which must not return.
static inline void *fresh_stack(char *top, void (*entry)()) {
    void **at = reinterpret_cast<void **>(top);
    *--at = nullptr; // where a return address would be: keeps the alignment of a called function
    *--at = reinterpret_cast<void *>(entry);
    for (int i = 0; i < swap_slots; i++) *--at = nullptr;
    return at;
}
#elif defined(__aarch64__)
constexpr int swap_slots = 20; // x19 to x30, d8 to d15
asm(R"(
.text
.globl fakecuda_swap
.hidden fakecuda_swap
.type fakecuda_swap,%function
fakecuda_swap:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size fakecuda_swap, .-fakecuda_swap
)");

static inline void *fresh_stack(char *top, void (*entry)()) {
    void **at = reinterpret_cast<void **>(top) - swap_slots;
    for (int i = 0; i < swap_slots; i++) at[i] = nullptr;
    at[11] = reinterpret_cast<void *>(entry); // x30
    return at;
}
#else
#error "swap.h knows x86-64 and arm64 only"
#endif
