// Runs a fuzz target over its seeds and over mutations of them, the same ones each time.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fuzz/target.h"

namespace trireme::fuzz {
namespace {

void run_target(const std::string& input) {
    // A copy of just this size, so that the address sanitizer sees a read behind it.
    const std::vector<std::uint8_t> copy(input.begin(), input.end());
    LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

class Mutator {
public:
    [[nodiscard]] std::string mutate(const std::vector<std::string>& all) {
        std::string text = all[below(all.size())];
        for (std::size_t i = 1 + below(4); i > 0; --i) step(text, all);
        return text;
    }

private:
    [[nodiscard]] std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

    void step(std::string& text, const std::vector<std::string>& all) {
        const std::size_t at = below(text.size());
        switch (below(7)) {
            case 0:
                if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
            case 1:
                if (!text.empty()) text[at] = static_cast<char>(random_());
                break;
            case 2: text.resize(at); break;
            case 3: text.erase(at, below(16)); break;
            case 4: text.insert(at, std::string(1 + below(8), static_cast<char>(random_()))); break;
            case 5: {  // a number that is at the edge of something
                constexpr std::int64_t edges[] = {0, 1, -1, 127, 255, 65535, INT32_MAX, INT64_MIN};
                const std::int64_t edge = edges[below(std::size(edges))];
                const std::size_t size = std::size_t{1} << below(4);
                text.replace(at, std::min(size, text.size() - at),
                             reinterpret_cast<const char*>(&edge), size);
                break;
            }
            default: {  // the beginning of one, the end of another
                const std::string& other = all[below(all.size())];
                text = text.substr(0, at) + other.substr(below(other.size()));
                break;
            }
        }
    }

    std::mt19937 random_{20};
};

TEST(Fuzz, SeedsAndMutationsOfThem) {
    const std::vector<std::string> all = seeds();
    run_target("");
    for (const std::string& seed : all) run_target(seed);
    Mutator mutator;
    for (int i = 0; i < 3000; ++i) run_target(mutator.mutate(all));
}

}  // namespace
}  // namespace trireme::fuzz
