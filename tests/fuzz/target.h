#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A fuzz target: one file tests/fuzz/NAME_fuzz.cpp, which defines these two for one parser of
/// bytes from outside. `make fuzz` runs it under libFuzzer (the program fuzz_NAME of the preset
/// `fuzz`); the tests run it over its seeds and some thousand mutations of them (fuzz_NAME_test).
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace trireme::fuzz {

/// Whole examples, from which mutations start.
[[nodiscard]] std::vector<std::string> seeds();

/// Bytes that are taken off the front of an input; zeros when it has come to its end.
class Input {
public:
    Input(const std::uint8_t* data, std::size_t size)
        : rest_(reinterpret_cast<const char*>(data), size) {}

    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    [[nodiscard]] unsigned byte() noexcept {
        if (rest_.empty()) return 0;
        const auto value = static_cast<unsigned char>(rest_.front());
        rest_.remove_prefix(1);
        return value;
    }
    [[nodiscard]] std::string_view take(std::size_t size) noexcept {
        const std::string_view part = rest_.substr(0, size);
        rest_.remove_prefix(part.size());
        return part;
    }
    [[nodiscard]] std::string_view rest() noexcept { return take(rest_.size()); }
    /// Up to the end of the line.
    [[nodiscard]] std::string line() {
        const std::string_view part = take(rest_.find('\n'));
        (void)byte();
        return std::string(part);
    }

private:
    std::string_view rest_;
};

}  // namespace trireme::fuzz
