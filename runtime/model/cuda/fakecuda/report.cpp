#include "report.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

namespace fakecuda {

static void print(const char *format, va_list arguments) {
    char line[1024];
    vsnprintf(line, sizeof line, format, arguments);
    fprintf(stderr, "fakecuda: %s\n", line);
    const char *name = getenv("FAKECUDA_LOG");
    if (!name || !*name) return;
    FILE *log = fopen(name, "a");
    if (!log) {
        fprintf(stderr, "fakecuda: FAKECUDA_LOG=%s cannot be written\n", name);
        exit(2);
    }
    fprintf(log, "%s\n", line);
    fclose(log);
}

void say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
    _Exit(2);
}

int64_t setting(const char *name, int64_t otherwise) {
    const char *value = getenv(name);
    if (!value || !*value) return otherwise;
    char *end;
    const int64_t number = strtoll(value, &end, 10);
    if (*end || number < 0) die("%s=%s: want a whole number", name, value);
    return number;
}

namespace {

// One entry of FAKECUDA_FAIL: WHAT[/DETAIL]:N:CODE.
struct Injection {
    std::string what, detail;
    long left; // calls until it fails
    int code;
};

// Every call that can be made to fail; kernel is the execution of one.
const char *const calls[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceTotalMem", "cuDeviceGetAttribute",
    "cuCtxCreate", "cuCtxDestroy", "cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cuCtxSynchronize", "cuMemGetInfo",
    "cuMemAlloc", "cuMemFree", "cuMemcpyHtoD", "cuMemcpyHtoDAsync", "cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemsetD8Async",
    "cuStreamCreate", "cuStreamDestroy", "cuStreamSynchronize", "cuModuleLoadData", "cuModuleUnload", "cuModuleGetFunction", "cuFuncGetAttribute",
    "cuLaunchKernel", "kernel"};

bool known(const std::string &what) {
    for (const char *call : calls)
        if (what == call) return true;
    return false;
}

Injection parse_injection(const std::string &entry) {
    const size_t second = entry.rfind(':'), first = second == std::string::npos || second == 0 ? std::string::npos : entry.rfind(':', second - 1);
    Injection injection = {};
    if (first != std::string::npos) {
        injection.what = entry.substr(0, first);
        injection.left = atol(entry.c_str() + first + 1);
        injection.code = atoi(entry.c_str() + second + 1);
        const size_t slash = injection.what.find('/');
        if (slash != std::string::npos) {
            injection.detail = injection.what.substr(slash + 1);
            injection.what.resize(slash);
        }
    }
    if (!known(injection.what) || injection.left < 1 || injection.code < 1)
        die("FAKECUDA_FAIL has '%s': want CALL:N:CODE or CALL/NAME:N:CODE, CALL being one that is faked, or kernel", entry.c_str());
    return injection;
}

} // namespace

int injected(const std::string &call, const std::string &detail) {
    static std::string last;
    static std::vector<Injection> &all = *new std::vector<Injection>;
    const char *value = getenv("FAKECUDA_FAIL");
    const std::string now = value ? value : "";
    if (now != last) {
        last = now;
        all.clear();
        for (size_t at = 0; at < now.size();) {
            const size_t comma = std::min(now.find(',', at), now.size());
            all.push_back(parse_injection(now.substr(at, comma - at)));
            at = comma + 1;
        }
    }
    for (Injection &one : all)
        if (one.what == call && (one.detail.empty() || one.detail == detail) && one.left > 0 && --one.left == 0) return one.code;
    return 0;
}

} // namespace fakecuda
