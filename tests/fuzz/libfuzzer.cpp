// What libFuzzer needs besides the target: its first corpus.

#include <cstdlib>
#include <fstream>

#include "fuzz/target.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
    // TRIREME_FUZZ_SEEDS=DIR: write the seeds there and end.
    const char* const folder = std::getenv("TRIREME_FUZZ_SEEDS");
    if (folder == nullptr) return 0;
    int number = 0;
    for (const std::string& seed : trireme::fuzz::seeds()) {
        const std::string path = std::string(folder) + "/seed" + std::to_string(++number);
        std::ofstream(path, std::ios::binary) << seed;
    }
    std::exit(0);
}
