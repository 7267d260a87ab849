#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "conformance/cell.h"
#include "trireme/operand.h"

namespace trireme::conformance {

/// An argument of any dtype and form; enters the library as the span, the list of spans or the
/// split span of the C++ type that it stands for.
struct Argument {
    Dtype dtype = Dtype::float32;
    Parts form = Parts::whole;
    std::vector<std::byte*> places;  ///< of each part; of the first one only, where not a list
    std::vector<std::size_t> lengths;
};

/// The memory of an argument, with guards before, after and between what the library may touch.
class Image {
public:
    Image() = default;
    /// Parts in one piece, or each for itself, the last one first.
    Image(Dtype dtype, Parts form, std::vector<std::size_t> lengths)
        : dtype_(dtype), form_(form), lengths_(std::move(lengths)) {
        // An odd number of elements: no better aligned than an element must be.
        const std::size_t width = size_of(dtype);
        const std::size_t guard = width * (64 / width + 1);
        std::size_t end = guard;
        offsets_.resize(lengths_.size());
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            const std::size_t index = form == Parts::list ? lengths_.size() - 1 - i : i;
            offsets_[index] = end;
            end += lengths_[index] * width + (form == Parts::list ? guard : 0);
        }
        memory_.assign(end + guard, std::byte{0xA5});
    }

    void write_part(int index, const std::byte* from) {
        const auto i = static_cast<std::size_t>(index);
        if (lengths_[i] > 0)
            std::memcpy(memory_.data() + offsets_[i], from, lengths_[i] * size_of(dtype_));
    }
    /// All parts, which stand side by side in `bytes`.
    void write(const Bytes& bytes) {
        const std::byte* from = bytes.data();
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            write_part(static_cast<int>(i), from);
            from += lengths_[i] * size_of(dtype_);
        }
    }
    void clear() {
        for (std::size_t i = 0; i < lengths_.size(); ++i)
            std::fill_n(memory_.data() + offsets_[i], lengths_[i] * size_of(dtype_),
                        std::byte{0x5A});
    }

    [[nodiscard]] Argument argument() {
        Argument result{dtype_, form_, {}, lengths_};
        for (const std::size_t offset : offsets_) result.places.push_back(memory_.data() + offset);
        return result;
    }
    [[nodiscard]] Argument part(int index) {
        const auto i = static_cast<std::size_t>(index);
        return {dtype_, Parts::whole, {memory_.data() + offsets_[i]}, {lengths_[i]}};
    }

    /// Where this differs from what it should be; empty where it does not. `loose`: zeros of both
    /// signs are equal.
    [[nodiscard]] std::string difference(const Image& wanted, bool loose) const {
        if (memory_ == wanted.memory_) return {};
        if (loose && without_signs_of_zeros() == wanted.without_signs_of_zeros()) return {};
        const auto at = std::ranges::mismatch(memory_, wanted.memory_).in1 - memory_.begin();
        const auto byte = static_cast<std::size_t>(at);
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            const std::size_t width = size_of(dtype_);
            if (byte < offsets_[i] || byte >= offsets_[i] + lengths_[i] * width) continue;
            const std::size_t element = (byte - offsets_[i]) / width;
            return "element " + std::to_string(element) + " of " + std::to_string(lengths_[i]) +
                   " of part " + std::to_string(i) + ": " + hex(offsets_[i] + element * width) +
                   " instead of " + wanted.hex(offsets_[i] + element * width);
        }
        return "byte " + std::to_string(byte) + ", outside the data";
    }

private:
    [[nodiscard]] Bytes without_signs_of_zeros() const {
        Bytes bytes = memory_;
        const auto mend = [&]<class F>(F) {
            for (std::size_t i = 0; i < bytes.size() / sizeof(F); ++i)
                if (load<F>(bytes, i) == F(0)) store(bytes, i, F(0));
        };
        dtype_ == Dtype::complex64 ? mend(0.0F) : mend(0.0);
        return bytes;
    }
    [[nodiscard]] std::string hex(std::size_t offset) const {
        std::string text;
        for (std::size_t i = size_of(dtype_); i-- > 0;) {
            constexpr const char* digits = "0123456789abcdef";
            const auto byte = static_cast<unsigned>(memory_[offset + i]);
            text += {digits[byte >> 4], digits[byte & 15]};
        }
        return text;
    }

    Dtype dtype_ = Dtype::float32;
    Parts form_ = Parts::whole;
    std::vector<std::size_t> lengths_;
    std::vector<std::size_t> offsets_;
    Bytes memory_;
};

}  // namespace trireme::conformance

namespace trireme {

template <>
struct OperandTraits<conformance::Argument> {
    static Operand make(const conformance::Argument& argument, Access access, Hold hold) {
        return conformance::visit(argument.dtype, [&]<class T>() {
            const auto span = [&](std::size_t i, std::size_t length) {
                return std::span<T>(reinterpret_cast<T*>(argument.places[i]), length);
            };
            if (argument.form == conformance::Parts::list) {
                std::vector<std::span<T>> list;
                for (std::size_t i = 0; i < argument.places.size(); ++i)
                    list.push_back(span(i, argument.lengths[i]));
                return make_operand(list, access, hold);
            }
            std::size_t count = 0;
            for (const std::size_t length : argument.lengths) count += length;
            if (argument.form == conformance::Parts::whole)
                return make_operand(span(0, count), access, hold);
            return make_operand(split(span(0, count), argument.lengths), access, hold);
        });
    }
};

}  // namespace trireme
