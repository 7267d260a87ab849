// What says of a tensor how it looks, from another rank.

#include <bit>
#include <cstdlib>
#include <cstring>

#include "core/tensor_header.h"
#include "fuzz/target.h"

namespace trireme::fuzz {

std::vector<std::string> seeds() {
    std::vector<std::string> all;
    for (const std::uint8_t dimensions : {std::uint8_t{0}, std::uint8_t{3}, std::uint8_t{8}}) {
        TensorHeader header{.dtype = static_cast<std::uint8_t>(Dtype::float32),
                            .dimensions = dimensions,
                            .sizes = {2, 3, 4, 1, 1, 1, 1, 0}};
        std::array<char, sizeof(header)> bytes =
            std::bit_cast<std::array<char, sizeof(header)>>(header);
        all.emplace_back(bytes.data(), bytes.size());
    }
    return all;
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    TensorHeader header;
    if (size < sizeof(header)) return 0;
    std::memcpy(&header, data, sizeof(header));
    if (header.problem()) return 0;
    // The bytes can be counted, also those that the strides of an empty one jump over.
    std::size_t bytes = size_of(header.element());
    if (bytes == 0 || header.shape().size() > TensorHeader::max_dimensions) std::abort();
    for (const std::int64_t extent : header.shape()) {
        if (extent < 0) std::abort();
        if (extent == 0) continue;
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes)) std::abort();
    }
    return 0;
}
