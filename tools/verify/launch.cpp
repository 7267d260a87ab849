#include "verify/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "verify/options.h"

namespace trireme::verify {

bool is_rank() { return std::getenv("RANK") != nullptr || std::getenv("WORLD_SIZE") != nullptr; }

void launch(int ranks, int argc, char** argv) {
    const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
    const std::string launcher = self.parent_path() / "trireme";
    // Without prefixes the last line of all is the one that counts the checks.
    std::vector<std::string> words{launcher,      "run", "-n", std::to_string(ranks),
                                   "--no-prefix", "--",  self};
    words.insert(words.end(), argv + 1, argv + argc);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);

    execv(launcher.c_str(), arguments.data());
    throw UsageError(
        fmt::format("cannot start {}: {}; start the ranks with `trireme run -n {} -- "
                    "{} ...`",
                    launcher, std::strerror(errno), ranks, self.string()));
}

}  // namespace trireme::verify
