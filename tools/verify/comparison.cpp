#include "verify/comparison.h"

#include <fmt/ranges.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trireme::verify {

namespace {

constexpr double rtol = 1e-4;
constexpr double atol = 1e-5;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

void Comparison::fail(std::string_view what, const std::string& why, double error) {
    failures_.push_back(fmt::format("{} {}", what, why));
    max_error_ = std::max(max_error_, error);
}

void Comparison::expect(std::string_view what, const at::Tensor& actual,
                        const at::Tensor& expected) {
    if (!actual.defined()) return fail(what, "is missing", infinity);
    if (actual.sizes() != expected.sizes()) {
        return fail(what,
                    fmt::format("has sizes [{}], expected [{}]", fmt::join(actual.sizes(), ", "),
                                fmt::join(expected.sizes(), ", ")),
                    infinity);
    }
    const at::Tensor reference = expected.detach().to(at::kDouble);
    const at::Tensor difference = (actual.detach().to(at::kDouble) - reference).abs();
    const double largest = difference.numel() == 0 ? 0 : difference.max().item<double>();
    if (!std::isfinite(largest)) return fail(what, "is not finite", infinity);
    // Written so that what cannot be compared does not pass.
    if (!(difference <= atol + rtol * reference.abs()).all().item<bool>()) {
        return fail(what, fmt::format("is off by {:.1e}", largest), largest);
    }
    max_error_ = std::max(max_error_, largest);
}

}  // namespace trireme::verify
