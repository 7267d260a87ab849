#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "trireme/op.h"

namespace trireme {

/// The buffers of all ranks of a simulated operation, and what must be in them afterwards.
///
/// Real ones, float32 or int64, hold small whole numbers, so that sums are exact. Phantom ones are
/// addresses at which there is no memory: whoever touches them crashes.
class SimData {
public:
    struct Plan {
        OpKind kind = OpKind::barrier;
        int ranks = 1;
        Dtype dtype = Dtype::float32;
        std::size_t count = 0;  ///< elements of the longer side
        bool real = false;
        bool in_place = false;
        int root = 0;
    };

    explicit SimData(const Plan& plan);
    SimData(const SimData&) = delete;
    SimData& operator=(const SimData&) = delete;
    ~SimData();

    /// As an `Op` takes them: one buffer, or none.
    [[nodiscard]] std::span<const Buffer> in(int rank) const noexcept;
    [[nodiscard]] std::span<const Buffer> out(int rank) const noexcept;

    /// Of real ones: compares with a plain computation; says what is wrong first, if anything.
    [[nodiscard]] std::string check() const;

private:
    [[nodiscard]] Buffer allocate(std::size_t count);
    void lay_out_real(std::size_t reads, std::size_t writes);
    void lay_out_phantom(std::size_t reads, std::size_t writes);
    [[nodiscard]] bool together() const noexcept;
    [[nodiscard]] int expected(int rank, std::size_t element) const noexcept;
    [[nodiscard]] int sum_before(int ranks, std::size_t element) const noexcept;

    Plan plan_;
    std::size_t block_;  // elements of one rank's part
    std::vector<std::vector<std::byte>> memory_;
    std::byte* nowhere_ = nullptr;
    std::size_t nowhere_bytes_ = 0;
    std::vector<Buffer> in_;
    std::vector<Buffer> out_;
};

}  // namespace trireme
