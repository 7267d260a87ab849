#include "verify/checks.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <fmt/ranges.h>

namespace trireme::verify {

namespace {

/// One parameter of a layer: its name, and its gradient here and in the dense layer.
struct Gradient {
    const char* name;
    at::Tensor actual;
    at::Tensor expected;
};

void expect_layer(const Context& context, Comparison& comparison, std::size_t layer,
                  std::initializer_list<Gradient> gradients) {
    for (const Gradient& gradient : gradients) {
        at::Tensor actual = gradient.actual;
        if (context.spoil && actual.defined()) actual = actual + 0.01;
        comparison.expect(fmt::format("gradient of layer {} {}", layer, gradient.name), actual,
                          gradient.expected);
        context.log->info("gradient of layer {} {}: [{}]", layer, gradient.name,
                          fmt::join(gradient.expected.sizes(), ", "));
    }
}

}  // namespace

void Context::expect_gradients(Comparison& comparison, const std::vector<Mlp>& actual,
                               const std::vector<Mlp>& dense) const {
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const Mlp& a = actual[i];
        const Mlp& d = dense[i];
        expect_layer(*this, comparison, i,
                     {{"fc1.weight", a->fc1->weight.grad(), d->fc1->weight.grad()},
                      {"fc1.bias", a->fc1->bias.grad(), d->fc1->bias.grad()},
                      {"fc2.weight", a->fc2->weight.grad(), d->fc2->weight.grad()},
                      {"fc2.bias", a->fc2->bias.grad(), d->fc2->bias.grad()}});
    }
}

void Context::expect_gradients(Comparison& comparison, const std::vector<ParallelMlp>& actual,
                               const std::vector<Mlp>& dense) const {
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const ParallelMlp& a = actual[i];
        const Mlp& d = dense[i];
        expect_layer(*this, comparison, i,
                     {{"fc1.weight", a->fc1->weight.grad(), part_of(d->fc1->weight.grad(), 0, tp)},
                      {"fc1.bias", a->fc1->bias.grad(), part_of(d->fc1->bias.grad(), 0, tp)},
                      {"fc2.weight", a->fc2->weight.grad(), part_of(d->fc2->weight.grad(), 1, tp)},
                      {"fc2.bias", a->fc2->bias.grad(), d->fc2->bias.grad()}});
    }
}

}  // namespace trireme::verify
