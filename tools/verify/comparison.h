#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace trireme::verify {

/// Collects how far computed tensors are from what they should be: equal within rtol 1e-4 and atol
/// 1e-5, as torch.allclose means it. NaN, infinities, a missing tensor and other sizes never pass.
class Comparison {
public:
    void expect(std::string_view what, const at::Tensor& actual, const at::Tensor& expected);

    [[nodiscard]] bool passed() const noexcept { return failures_.empty(); }
    /// The largest absolute difference; infinity where it is not a number.
    [[nodiscard]] double max_error() const noexcept { return max_error_; }
    /// A line for each tensor that does not fit.
    [[nodiscard]] const std::vector<std::string>& failures() const noexcept { return failures_; }

private:
    void fail(std::string_view what, const std::string& why, double error);

    double max_error_ = 0;
    std::vector<std::string> failures_;
};

}  // namespace trireme::verify
