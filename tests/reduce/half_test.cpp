#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "reduce/elements.h"
#include "reduce/kernel.h"

namespace trireme {
namespace {

/// A format of 16 bits, by its definition.
struct Format {
    Dtype dtype;
    int fraction_bits;
    int bias;
    std::uint16_t infinity;  // its bits
    std::uint16_t nan;

    /// What bits mean, NaN aside; infinity is the power of two that would come next.
    [[nodiscard]] double magnitude(unsigned bits) const {
        const auto fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1));
        const int exponent = static_cast<int>((bits & 0x7FFFU) >> fraction_bits);
        const double leading = exponent == 0 ? 0 : std::ldexp(1, fraction_bits);
        return std::ldexp(leading + fraction, std::max(exponent, 1) - bias - fraction_bits);
    }
};

const std::vector<Format> formats{{Dtype::float16, 10, 15, 0x7C00, 0x7E00},
                                  {Dtype::bfloat16, 7, 127, 0x7F80, 0x7FC0}};

template <class Body>
void for_every_format_and_target(Body body) {
    for (const Format& format : formats) {
        SCOPED_TRACE(std::string(name(format.dtype)));
        on_every_target([&] { body(format); });
    }
}

TEST(Half, widens_all_bit_patterns_exactly) {
    for_every_format_and_target([](const Format& format) {
        std::vector<std::uint16_t> halves(65536);
        for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
        std::vector<float> floats(halves.size());
        widen(format.dtype, reinterpret_cast<const std::byte*>(halves.data()),
              reinterpret_cast<std::byte*>(floats.data()), halves.size());
        for (unsigned bits = 0; bits < 65536; ++bits) {
            const float got = floats[bits];
            const unsigned magnitude = bits & 0x7FFFU;
            const double wanted = magnitude == format.infinity
                                      ? std::numeric_limits<double>::infinity()
                                      : format.magnitude(bits);
            const bool right =
                magnitude > format.infinity ? std::isnan(got) : std::fabs(double{got}) == wanted;
            ASSERT_TRUE(right && std::signbit(got) == (bits >= 0x8000U)) << bits << ": " << got;
            if (magnitude > format.infinity) {
                // Not even NaN may tell on which processor it was widened.
                const unsigned fraction = (bits & ((1U << format.fraction_bits) - 1))
                                          << (23 - format.fraction_bits);
                ASSERT_EQ(std::bit_cast<std::uint32_t>(got) & 0x7F'FFFFU, fraction) << bits;
            }
        }
    });
}

/// The nearest half by its definition: between which two the value lies, and on which side of their
/// middle. `magnitudes` are those of all halves up to infinity; a double holds the middle exactly.
std::uint16_t nearest(const Format& format, const std::vector<double>& magnitudes, float value) {
    if (std::isnan(value)) return format.nan;
    const unsigned sign = std::signbit(value) ? 0x8000U : 0;
    const double magnitude = std::fabs(value);
    const auto above = std::ranges::lower_bound(magnitudes, magnitude);
    auto half = static_cast<unsigned>(above - magnitudes.begin());
    if (above == magnitudes.end()) {
        half = format.infinity;
    } else if (*above != magnitude) {
        const double middle = (*above + *(above - 1)) / 2;
        if (magnitude < middle || (magnitude == middle && half % 2 == 1)) --half;
    }
    return static_cast<std::uint16_t>(half | sign);
}

/// Every half, every middle between two, and the floats next to these; then random bits.
std::vector<float> values_to_narrow(const std::vector<double>& magnitudes) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> values = special_values<float>();
    const auto add = [&values](double exact) {
        const auto value = static_cast<float>(exact);
        for (const float each :
             {value, std::nextafterf(value, infinity), std::nextafterf(value, -infinity)}) {
            values.push_back(each);
            values.push_back(-each);
        }
    };
    for (std::size_t i = 0; i + 1 < magnitudes.size(); ++i) {
        add(magnitudes[i]);
        add((magnitudes[i] + magnitudes[i + 1]) / 2);
    }
    std::mt19937 random(4);
    for (int i = 0; i < 20000; ++i) {
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
        values.push_back(static_cast<float>(
            std::ldexp(static_cast<double>(random()) * 0x1p-31 - 1, i % 48 - 30)));
    }
    return values;
}

TEST(Half, narrows_to_the_nearest_with_ties_to_even) {
    for (const Format& format : formats) {
        SCOPED_TRACE(std::string(name(format.dtype)));
        std::vector<double> magnitudes;
        for (unsigned bits = 0; bits <= format.infinity; ++bits) {
            magnitudes.push_back(format.magnitude(bits));
        }
        const std::vector<float> values = values_to_narrow(magnitudes);
        std::vector<std::uint16_t> wanted;
        for (const float value : values) wanted.push_back(nearest(format, magnitudes, value));
        on_every_target([&] {
            std::vector<std::uint16_t> got(values.size());
            narrow(format.dtype, reinterpret_cast<const std::byte*>(values.data()),
                   reinterpret_cast<std::byte*>(got.data()), values.size());
            const auto [wrong, instead] = std::ranges::mismatch(wanted, got);
            ASSERT_TRUE(wrong == wanted.end())
                << values[static_cast<std::size_t>(wrong - wanted.begin())] << " became "
                << *instead << " instead of " << *wrong;
        });
    }
}

TEST(Half, converts_every_size_at_every_alignment) {
    for_every_format_and_target([](const Format& format) {
        std::vector<std::uint16_t> halves(300);
        std::vector<float> floats;
        for (std::size_t i = 0; i < halves.size(); ++i) {
            const auto bits = static_cast<unsigned>(i * 12345) % format.infinity;
            halves[i] = static_cast<std::uint16_t>(bits | (i % 2 == 1 ? 0x8000U : 0));
            floats.push_back(static_cast<float>(format.magnitude(bits) * (i % 2 == 1 ? -1 : 1)));
        }
        std::size_t shift = 0;
        for (const std::size_t count : interesting_counts<std::uint16_t>()) {
            ++shift;
            Elements<std::uint16_t> from(halves.data(), count, shift % 8);
            Elements<float> wide(count, (shift * 3 + 1) % 8);
            Elements<std::uint16_t> back(count, (shift * 5 + 2) % 8);
            widen(format.dtype, from.data(), wide.data(), count);
            narrow(format.dtype, wide.data(), back.data(), count);
            ASSERT_TRUE(from.margins_intact() && wide.margins_intact() && back.margins_intact());
            if (count == 0) continue;
            ASSERT_EQ(std::memcmp(wide.data(), floats.data(), count * sizeof(float)), 0) << count;
            ASSERT_EQ(std::memcmp(back.data(), halves.data(), count * 2), 0) << count;
        }
    });
}

TEST(Half, sums_as_float16_would) {
    const auto sum_of = [](std::uint16_t a, std::uint16_t b) {
        const std::uint16_t halves[] = {a, b};
        float floats[2];
        widen(Dtype::float16, reinterpret_cast<const std::byte*>(halves),
              reinterpret_cast<std::byte*>(floats), 2);
        auto* first = reinterpret_cast<std::byte*>(&floats[0]);
        find_kernel(accumulation_dtype(Dtype::float16), ReduceOp::Kind::sum)(
            first, reinterpret_cast<const std::byte*>(&floats[1]), first, 1);
        std::uint16_t result = 0;
        narrow(Dtype::float16, first, reinterpret_cast<std::byte*>(&result), 1);
        return result;
    };
    EXPECT_EQ(sum_of(0x7BFF, 0x4C00), 0x7C00) << "65504 + 16: a tie, which goes to infinity";
    EXPECT_EQ(sum_of(0x7BFF, 0x4BFF), 0x7BFF) << "65504 + just less than 16";
    EXPECT_EQ(sum_of(0x0001, 0x0001), 0x0002) << "2^-24 + 2^-24 is exactly 2^-23";
    EXPECT_EQ(sum_of(0x7C00, 0xFC00), 0x7E00) << "inf - inf";
}

}  // namespace
}  // namespace trireme
