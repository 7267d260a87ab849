#include "sim/sim_data.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>

#include "core/op_info.h"

namespace trireme {

namespace {

constexpr int untouched = -12345;

// What rank `rank` contributes: small, whole, and different from its neighbours in all directions.
int value(int rank, std::size_t element) noexcept {
    const std::size_t mixed = static_cast<std::size_t>(rank) * 31 + element * 17 + element / 7;
    return static_cast<int>(mixed % 23) - 9;
}

void put(const Buffer& buffer, std::size_t element, int value) noexcept {
    const auto store = [&](auto number) {
        std::memcpy(buffer.data + element * sizeof(number), &number, sizeof(number));
    };
    if (buffer.dtype == Dtype::int64)
        store(std::int64_t{value});
    else
        store(static_cast<float>(value));
}

// Sums of so small numbers are whole in float32, too, and any other result is to be seen as it is.
double get(const Buffer& buffer, std::size_t element) noexcept {
    const auto load = [&](auto number) {
        std::memcpy(&number, buffer.data + element * sizeof(number), sizeof(number));
        return static_cast<double>(number);
    };
    return buffer.dtype == Dtype::int64 ? load(std::int64_t{}) : load(float{});
}

}  // namespace

SimData::SimData(const Plan& plan)
    : plan_(plan), block_(plan.count / static_cast<std::size_t>(plan.ranks)) {
    const Shape shape = info(plan.kind).shape;
    if (shape == Shape::none) return;
    const std::size_t reads = shape == Shape::gathered ? block_ : plan.count;
    const std::size_t writes = shape == Shape::scattered ? block_ : plan.count;
    if (plan.real)
        lay_out_real(reads, writes);
    else
        lay_out_phantom(reads, writes);
    if (!together()) return;
    for (int rank = 0; rank < plan.ranks; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        if (shape == Shape::scattered)
            out_[index] = in_[index].slice(index * block_, block_);
        else if (shape == Shape::gathered)
            in_[index] = out_[index].slice(index * block_, block_);
        else
            out_[index] = in_[index];
        if (plan.real && shape == Shape::gathered)
            for (std::size_t i = 0; i < block_; ++i) put(in_[index], i, value(rank, i));
    }
}

SimData::~SimData() {
    if (nowhere_ != nullptr) ::munmap(nowhere_, nowhere_bytes_);
}

// Whether input and output share memory.
bool SimData::together() const noexcept {
    if (plan_.kind == OpKind::broadcast) return true;
    return plan_.in_place && info(plan_.kind).shape != Shape::exchanged;
}

Buffer SimData::allocate(std::size_t count) {
    return {memory_.emplace_back(count * size_of(plan_.dtype)).data(), count, plan_.dtype,
            Device::host};
}

void SimData::lay_out_real(std::size_t reads, std::size_t writes) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
        const Buffer& in = in_.emplace_back(allocate(reads));
        for (std::size_t i = 0; i < reads; ++i) put(in, i, value(rank, i));
        const Buffer& out = out_.emplace_back(allocate(writes));
        for (std::size_t i = 0; i < writes; ++i) put(out, i, untouched);
    }
}

// All ranks' at the same address, for nobody is there.
void SimData::lay_out_phantom(std::size_t reads, std::size_t writes) {
    const std::size_t width = size_of(plan_.dtype);
    nowhere_bytes_ = std::max<std::size_t>((reads + writes) * width, 1);
    void* const memory = ::mmap(nullptr, nowhere_bytes_, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    nowhere_ = static_cast<std::byte*>(memory);
    const auto ranks = static_cast<std::size_t>(plan_.ranks);
    in_.assign(ranks, {nowhere_, reads, plan_.dtype, Device::host});
    out_.assign(ranks, {nowhere_ + reads * width, writes, plan_.dtype, Device::host});
}

std::span<const Buffer> SimData::in(int rank) const noexcept {
    if (in_.empty() || (info(plan_.kind).in_only_at_root && rank != plan_.root)) return {};
    return {&in_[static_cast<std::size_t>(rank)], 1};
}

std::span<const Buffer> SimData::out(int rank) const noexcept {
    if (out_.empty() || (info(plan_.kind).out_only_at_root && rank != plan_.root)) return {};
    return {&out_[static_cast<std::size_t>(rank)], 1};
}

int SimData::sum_before(int ranks, std::size_t element) const noexcept {
    int total = 0;
    for (int rank = 0; rank < ranks; ++rank) total += value(rank, element);
    return total;
}

int SimData::expected(int rank, std::size_t element) const noexcept {
    const int unchanged = plan_.in_place ? value(rank, element) : untouched;
    const std::size_t mine = static_cast<std::size_t>(rank) * block_;
    const auto from = [&] { return static_cast<int>(element / block_); };
    switch (plan_.kind) {
        case OpKind::broadcast: return value(plan_.root, element);
        case OpKind::all_reduce: return sum_before(plan_.ranks, element);
        case OpKind::reduce:
            return rank == plan_.root ? sum_before(plan_.ranks, element) : unchanged;
        case OpKind::all_gather:
        case OpKind::gather: return value(from(), element % block_);
        case OpKind::scatter: return value(plan_.root, mine + element);
        case OpKind::reduce_scatter: return sum_before(plan_.ranks, mine + element);
        case OpKind::all_to_all: return value(from(), mine + element % block_);
        case OpKind::scan: return sum_before(rank + 1, element);
        case OpKind::exclusive_scan: return rank == 0 ? unchanged : sum_before(rank, element);
        default: return untouched;
    }
}

std::string SimData::check() const {
    const auto difference = [](int rank, std::string_view what, const Buffer& buffer,
                               const auto& wanted) -> std::string {
        for (std::size_t i = 0; i < buffer.count; ++i)
            if (get(buffer, i) != wanted(i))
                return fmt::format("rank {}: {}[{}] is {}, not {}", rank, what, i, get(buffer, i),
                                   wanted(i));
        return {};
    };
    for (int rank = 0; rank < plan_.ranks; ++rank) {
        for (const Buffer& buffer : out(rank)) {
            const auto wanted = [&](std::size_t i) { return expected(rank, i); };
            if (std::string wrong = difference(rank, "out", buffer, wanted); !wrong.empty())
                return wrong;
        }
        if (together()) continue;
        for (const Buffer& buffer : in(rank)) {
            const auto wanted = [&](std::size_t i) { return value(rank, i); };
            if (std::string wrong = difference(rank, "in", buffer, wanted); !wrong.empty())
                return wrong;
        }
    }
    return {};
}

}  // namespace trireme
