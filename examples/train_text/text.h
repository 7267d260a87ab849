#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

/// A file as training data.
class Text {
public:
    explicit Text(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        std::string read(std::istreambuf_iterator<char>(file), {});
        if (read.empty()) throw std::runtime_error("cannot read " + path + ", or it is empty");
        bytes_ = torch::from_blob(read.data(), {std::ssize(read)}, torch::kByte).to(torch::kLong);
    }

    /// `count` windows of `length` bytes at random places, [count, length]. The same `seed` finds
    /// the same ones, so that any rank can tell what another one trains on.
    [[nodiscard]] torch::Tensor windows(std::int64_t count, std::int64_t length,
                                        std::uint64_t seed) const {
        if (length > bytes_.numel()) throw std::runtime_error("the text is shorter than a window");
        const auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
        const auto starts =
            torch::randint(0, bytes_.numel() - length + 1, {count, 1}, generator, torch::kLong);
        return bytes_.index({starts + torch::arange(length)});
    }

private:
    torch::Tensor bytes_;
};
