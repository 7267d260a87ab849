#include "sim/sim_data.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "core/op_info.h"

namespace trireme {

namespace {

constexpr float untouched = -12345;
constexpr std::size_t width = sizeof(float);

// What rank `rank` contributes: small, whole, and different from its neighbours in all directions.
float value(int rank, std::size_t element) noexcept {
    const std::size_t mixed = static_cast<std::size_t>(rank) * 31 + element * 17 + element / 7;
    return static_cast<float>(mixed % 23) - 9;
}

Buffer buffer_of(std::byte* data, std::size_t count) noexcept {
    return {data, count, Dtype::float32, Device::host};
}

Buffer buffer_of(std::vector<float>& memory) noexcept {
    return buffer_of(reinterpret_cast<std::byte*>(memory.data()), memory.size());
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
        if (!plan.real || shape != Shape::gathered) continue;
        std::copy_n(memory_in_[index].begin(), block_,
                    memory_out_[index].begin() + static_cast<std::ptrdiff_t>(index * block_));
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

void SimData::lay_out_real(std::size_t reads, std::size_t writes) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
        std::vector<float>& in = memory_in_.emplace_back(reads);
        for (std::size_t i = 0; i < reads; ++i) in[i] = value(rank, i);
        memory_out_.emplace_back(writes, untouched);
    }
    for (std::vector<float>& memory : memory_in_) in_.push_back(buffer_of(memory));
    for (std::vector<float>& memory : memory_out_) out_.push_back(buffer_of(memory));
}

// All ranks' at the same address, for nobody is there.
void SimData::lay_out_phantom(std::size_t reads, std::size_t writes) {
    nowhere_bytes_ = std::max<std::size_t>((reads + writes) * width, 1);
    void* const memory = ::mmap(nullptr, nowhere_bytes_, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    nowhere_ = static_cast<std::byte*>(memory);
    const auto ranks = static_cast<std::size_t>(plan_.ranks);
    in_.assign(ranks, buffer_of(nowhere_, reads));
    out_.assign(ranks, buffer_of(nowhere_ + reads * width, writes));
}

std::span<const Buffer> SimData::in(int rank) const noexcept {
    if (in_.empty() || (info(plan_.kind).in_only_at_root && rank != plan_.root)) return {};
    return {&in_[static_cast<std::size_t>(rank)], 1};
}

std::span<const Buffer> SimData::out(int rank) const noexcept {
    if (out_.empty() || (info(plan_.kind).out_only_at_root && rank != plan_.root)) return {};
    return {&out_[static_cast<std::size_t>(rank)], 1};
}

float SimData::sum_before(int ranks, std::size_t element) const noexcept {
    float total = 0;
    for (int rank = 0; rank < ranks; ++rank) total += value(rank, element);
    return total;
}

float SimData::expected(int rank, std::size_t element) const noexcept {
    const float unchanged = plan_.in_place ? value(rank, element) : untouched;
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
    const auto compare = [](int rank, std::string_view what, std::size_t element, float found,
                            float wanted) -> std::string {
        if (found == wanted) return {};
        return fmt::format("rank {}: {}[{}] is {}, not {}", rank, what, element, found, wanted);
    };
    for (int rank = 0; rank < plan_.ranks; ++rank) {
        for (const Buffer& buffer : out(rank)) {
            const float* const found = reinterpret_cast<const float*>(buffer.data);
            for (std::size_t i = 0; i < buffer.count; ++i)
                if (std::string wrong = compare(rank, "out", i, found[i], expected(rank, i));
                    !wrong.empty())
                    return wrong;
        }
        if (together()) continue;
        for (const Buffer& buffer : in(rank)) {
            const float* const found = reinterpret_cast<const float*>(buffer.data);
            for (std::size_t i = 0; i < buffer.count; ++i)
                if (std::string wrong = compare(rank, "in", i, found[i], value(rank, i));
                    !wrong.empty())
                    return wrong;
        }
    }
    return {};
}

}  // namespace trireme
