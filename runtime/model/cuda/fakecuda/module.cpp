// Modules: what a driver would refuse in a PTX text, and whether it belongs to the sources that this
// library was built of.
#include "device.h"
#include "report.h"

#include <cstdlib>
#include <cstring>
#include <regex>

namespace fakecuda {

int driver_version() { return static_cast<int>(setting("FAKECUDA_DRIVER", 12090)); }

int capability() {
    const char *value = getenv("FAKECUDA_CAPABILITY");
    if (!value || !*value) return 90;
    int major, minor, length = 0;
    if (sscanf(value, "%d.%d%n", &major, &minor, &length) != 2 || value[length]) die("FAKECUDA_CAPABILITY=%s: want one like 9.0", value);
    return major * 10 + minor;
}

namespace {

// The newest PTX that a driver of CUDA 12.0 to 13.x reads, times ten (the table of PTX ISA versions in
// the PTX manual).
int newest_ptx(int driver) {
    const int major = driver / 1000, minor = driver % 1000 / 10;
    if (major >= 13) return 90 + 10 * (major - 13) + minor;
    if (major < 12) return 70 + std::min(8, minor);
    constexpr int of_12[] = {80, 81, 82, 83, 84, 85, 85, 86, 87, 88};
    return of_12[std::min(minor, 9)];
}

std::string first_match(const std::string &text, const char *pattern) {
    std::smatch found;
    return std::regex_search(text, found, std::regex(pattern)) ? found[1].str() : "";
}

int number(const std::string &text, size_t from) { return atoi(text.c_str() + from); }

// The size of a PTX type such as .u64, in bytes.
int type_bytes(const std::string &type) { return type[0] == 'p' ? 1 : atoi(type.c_str() + 1) / 8; }

std::vector<int> parameter_sizes(const std::string &list) {
    static const std::regex parameter(R"(\.param\s+(?:\.align\s+\d+\s+)?\.([a-z]\d+)\s[^,\[]*(?:\[(\d+)\])?)");
    std::vector<int> sizes;
    for (std::sregex_iterator it(list.begin(), list.end(), parameter), end; it != end; ++it)
        sizes.push_back(type_bytes((*it)[1].str()) * ((*it)[2].matched ? atoi((*it)[2].str().c_str()) : 1));
    return sizes;
}

// Of `.shared .align 4 .b8 name[128];`, wherever it stands.
size_t shared_bytes(const std::string &text) {
    static const char word[] = ".shared .align ";
    size_t sum = 0;
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
        const size_t end = text.find(';', at), type = text.find(" .", at + strlen(word)), open = text.find('[', at);
        if (type > end || open > end) continue; // a scalar, or cut off
        sum += type_bytes(text.substr(type + 2, 4)) * strtoull(text.c_str() + open + 1, nullptr, 10);
    }
    return sum;
}

CUresult add_entry(const std::string &name, const std::string &hash, const std::vector<int> &sizes, size_t shared, CUmod_st &module) {
    const Kernel *kernel = find_kernel(name);
    if (!kernel) {
        say("cuModuleLoadData: %s is in no source that this library was built of", name.c_str());
        return CUDA_ERROR_NOT_FOUND;
    }
    if (hash != kernel->hash) {
        say("cuModuleLoadData: %s: its PTX was made of other sources than this library: %s, %s here", name.c_str(), hash.empty() ? "no hash" : hash.c_str(), kernel->hash);
        return CUDA_ERROR_INVALID_SOURCE;
    }
    if (sizes != kernel->sizes) {
        say("cuModuleLoadData: %s has %zu parameters in PTX and %zu in its source, or other sizes", name.c_str(), sizes.size(), kernel->sizes.size());
        return CUDA_ERROR_INVALID_PTX;
    }
    module.functions[name] = {module.owner, kernel, shared};
    return CUDA_SUCCESS;
}

} // namespace

CUresult load_module(CUcontext owner, const std::string &ptx, CUmod_st &module) {
    module.owner = owner;
    const std::string head = ptx.substr(0, 4096);
    const std::string version = first_match(head, R"((?:^|\n)\.version\s+(\d+\.\d+))"), target = first_match(head, R"((?:^|\n)\.target\s+sm_(\d+))");
    if (version.empty() || target.empty()) {
        say("cuModuleLoadData: the text has no .version or no .target");
        return CUDA_ERROR_INVALID_PTX;
    }
    if (number(version, 0) * 10 + number(version, version.find('.') + 1) > newest_ptx(driver_version())) {
        say("cuModuleLoadData: PTX %s is too new for a driver of CUDA %d.%d", version.c_str(), driver_version() / 1000, driver_version() % 1000 / 10);
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    if (number(target, 0) > capability()) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    const std::string hash = first_match(head, R"((?:^|\n)// sources-sha256: ([0-9a-f]{64})\n)");
    static const char entry_word[] = ".entry ";
    size_t at = ptx.find(entry_word);
    size_t module_shared = shared_bytes(ptx.substr(0, std::min(at, ptx.size())));
    while (at != std::string::npos) {
        const size_t next = ptx.find(entry_word, at + 1), open = ptx.find('(', at), close = ptx.find(')', at);
        if (open == std::string::npos || close == std::string::npos || close < open) return CUDA_ERROR_INVALID_PTX;
        const size_t from = at + strlen(entry_word);
        const std::string name = ptx.substr(from, ptx.find_first_of("( \n", from) - from);
        const std::string body = ptx.substr(close, next == std::string::npos ? next : next - close);
        if (CUresult r = add_entry(name, hash, parameter_sizes(ptx.substr(open, close - open)), module_shared + shared_bytes(body), module)) return r;
        at = next;
    }
    return module.functions.empty() ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

} // namespace fakecuda
