// What the fake driver says, where it says it, and what it was asked to do.
#pragma once
#include <cstdint>
#include <string>

namespace fakecuda {

// A line on standard error and, where FAKECUDA_LOG names a file, in it.
[[gnu::format(printf, 1, 2)]] void say(const char *format, ...);

// A fault in how the fake driver is used: says so and ends the process.
[[noreturn, gnu::format(printf, 1, 2)]] void die(const char *format, ...);

// A whole number of the environment, or the default where it is not set.
int64_t setting(const char *name, int64_t otherwise);

// The code that FAKECUDA_FAIL wants for this call, 0 if none. It counts the call.
int injected(const std::string &call, const std::string &detail);

// Which allocation an address belongs to or lies near.
std::string describe_address(uintptr_t address);

} // namespace fakecuda
