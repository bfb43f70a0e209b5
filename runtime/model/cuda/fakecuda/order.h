// The order of threads, warps and blocks, which no kernel may depend on: FAKECUDA_ORDER. Only fiber.cpp
// includes this.
#pragma once
#include "report.h"

#include <cstdint>
#include <cstdlib>
#include <string>

namespace fakecuda {

enum class Order { forward, reverse, random };
static Order order;
static uint64_t random_state;

static uint64_t next_random() { // xorshift64
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

// The seed is taken when the variable changes, not at every launch: each launch has another order.
static void read_order() {
    static std::string last = "?";
    const char *value = getenv("FAKECUDA_ORDER");
    const std::string now = value && *value ? value : "forward";
    if (now == last) return;
    last = now;
    if (now == "forward") order = Order::forward;
    else if (now == "reverse") order = Order::reverse;
    else if (now.rfind("random:", 0) == 0 && now.find_first_not_of("0123456789", 7) == std::string::npos && now.size() > 7) {
        order = Order::random;
        random_state = strtoull(now.c_str() + 7, nullptr, 10) * 2 + 0x9e3779b97f4a7c15;
    } else die("FAKECUDA_ORDER=%s: want forward, reverse or random:SEED", now.c_str());
}

// The numbers below n in the order asked for; random ones are cut like cards, by an odd stride, where n
// is a power of two.
template <class F> static void in_order(int n, F visit) {
    if (order == Order::random) {
        const uint64_t r = next_random();
        int size = 1;
        while (size < n) size *= 2;
        const unsigned start = r & (size - 1), stride = (r >> 20 & (size - 1)) | 1;
        for (int k = 0; k < size; k++) {
            const int i = (start + k * stride) & (size - 1);
            if (i < n) visit(i);
        }
        return;
    }
    for (int k = 0; k < n; k++) visit(order == Order::reverse ? n - 1 - k : k);
}

} // namespace fakecuda
