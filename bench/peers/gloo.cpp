// ProcessGroupGloo of the installed torch as a contestant of `trireme bench`, called from C++.

#include "gloo_names.h"

#define USE_C10D_GLOO 1
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "contest/contestant.h"
#include "contest/serve.h"

namespace trireme::bench {
namespace {

std::string setting(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set");
    return value;
}

at::ScalarType type_of(Element element) {
    switch (element) {
        case Element::float32: return at::kFloat;
        case Element::float64: return at::kDouble;
        case Element::bfloat16: return at::kBFloat16;
        case Element::float16: return at::kHalf;
        case Element::int8: return at::kChar;
        case Element::uint8: return at::kByte;
        case Element::int32: return at::kInt;
        case Element::int64: return at::kLong;
    }
    throw Refusal("torch has no " + std::string(info(element).name));
}

c10d::ReduceOp reduction_of(const std::string& name) {
    if (name == "sum") return c10d::ReduceOp::SUM;
    if (name == "prod") return c10d::ReduceOp::PRODUCT;
    if (name == "min") return c10d::ReduceOp::MIN;
    if (name == "max") return c10d::ReduceOp::MAX;
    if (name == "avg") return c10d::ReduceOp::AVG;
    throw Refusal("torch has no " + name);
}

using Tensors = std::vector<at::Tensor>;

/// The tensors of a call, made before it. A root's lists are empty elsewhere, as c10d wants them.
struct Made {
    Tensors in, out;
    Tensors in_parts, out_parts;
    int root = 0;
};

class Gloo final : public Contestant {
public:
    Gloo() : rank_(std::stoi(setting("RANK"))), size_(std::stoi(setting("WORLD_SIZE"))) {
        auto store = c10::make_intrusive<c10d::FileStore>(setting("TRIREME_BENCH_STORE"), size_);
        auto options = c10d::ProcessGroupGloo::Options::create();
        options->devices.push_back(
            c10d::ProcessGroupGloo::createDeviceForInterface(setting("TRIREME_BENCH_INTERFACE")));
        group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank_, size_, options);
    }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void barrier() override { group_->barrier()->wait(); }

    Call prepare(const Cell& cell, std::span<const Slot> slots) override {
        auto made = std::make_shared<std::vector<Made>>();
        for (const Slot& slot : slots) made->push_back(make_tensors(cell, slot));
        return call_of(cell, made);
    }

private:
    using AllMade = std::shared_ptr<std::vector<Made>>;

    [[nodiscard]] Made make_tensors(const Cell& cell, const Slot& slot) const {
        const auto options = at::TensorOptions(type_of(cell.element));
        const std::size_t part = cell.part(size_);
        const std::size_t bytes = part * info(cell.element).size;
        const auto tensor = [&](std::byte* data, std::size_t count) {
            return at::from_blob(data, {static_cast<std::int64_t>(count)}, options);
        };
        Made made;
        made.root = slot.root;
        for (std::size_t m = 0; m < cell.window(); ++m) {
            made.in.push_back(tensor(slot.in + m * bytes, cell.in_count(size_)));
            made.out.push_back(tensor(slot.out + m * bytes, cell.out_count(size_)));
        }
        const auto parts = [&](bool has_parts, std::byte* data, Tensors& list) {
            for (std::size_t r = 0; has_parts && r < static_cast<std::size_t>(size_); ++r)
                list.push_back(tensor(data + r * bytes, part));
        };
        const auto& row = info(cell.operation);
        const bool here = !row.is_rooted || slot.root == rank_;
        parts(row.in_has_parts && here, slot.in, made.in_parts);
        parts(row.out_has_parts && here, slot.out, made.out_parts);
        return made;
    }

    [[nodiscard]] Call call_of(const Cell& cell, const AllMade& made) {
        const c10d::ReduceOp reduction =
            reduction_of(info(cell.operation).reduces ? cell.reduce : "sum");
        switch (cell.operation) {
            case Operation::all_reduce:
                if (!cell.in_place) throw Refusal("Gloo's all_reduce is in place only");
                return [this, made, reduction](std::size_t i) {
                    c10d::AllreduceOptions options;
                    options.reduceOp = reduction;
                    group_->allreduce((*made)[i].out, options)->wait();
                };
            case Operation::all_gather:
                return [this, made](std::size_t i) {
                    group_->_allgather_base((*made)[i].out[0], (*made)[i].in[0])->wait();
                };
            case Operation::reduce_scatter:
                return [this, made, reduction](std::size_t i) {
                    c10d::ReduceScatterOptions options;
                    options.reduceOp = reduction;
                    group_->_reduce_scatter_base((*made)[i].out[0], (*made)[i].in[0], options)
                        ->wait();
                };
            case Operation::broadcast:
                return [this, made](std::size_t i) {
                    c10d::BroadcastOptions options;
                    options.rootRank = (*made)[i].root;
                    group_->broadcast((*made)[i].out, options)->wait();
                };
            case Operation::all_to_all:
                return [this, made](std::size_t i) {
                    std::vector<std::int64_t> even;
                    group_->alltoall_base((*made)[i].out[0], (*made)[i].in[0], even, even)->wait();
                };
            case Operation::barrier: return [this](std::size_t) { group_->barrier()->wait(); };
            case Operation::reduce:
                return [this, made, reduction](std::size_t i) {
                    c10d::ReduceOptions options;
                    options.reduceOp = reduction;
                    options.rootRank = (*made)[i].root;
                    group_->reduce((*made)[i].out, options)->wait();
                };
            case Operation::gather:
                return [this, made](std::size_t i) {
                    Made& one = (*made)[i];
                    c10d::GatherOptions options;
                    options.rootRank = one.root;
                    std::vector<Tensors> outputs;
                    if (!one.out_parts.empty()) outputs.push_back(one.out_parts);
                    group_->gather(outputs, one.in, options)->wait();
                };
            case Operation::scatter:
                return [this, made](std::size_t i) {
                    Made& one = (*made)[i];
                    c10d::ScatterOptions options;
                    options.rootRank = one.root;
                    std::vector<Tensors> inputs;
                    if (!one.in_parts.empty()) inputs.push_back(one.in_parts);
                    group_->scatter(one.out, inputs, options)->wait();
                };
            case Operation::scan: throw Refusal("Gloo has no scan");
            case Operation::sendrecv_latency: return ping_pong(made);
            case Operation::sendrecv_bandwidth: return window(made);
        }
        throw Refusal("unknown operation");
    }

    [[nodiscard]] Call ping_pong(const AllMade& made) {
        const int partner = partner_of(rank_, size_);
        if (partner == rank_) return [](std::size_t) {};
        const bool first = rank_ % 2 == 0;
        return [this, made, partner, first](std::size_t i) {
            Made& one = (*made)[i];
            if (first) group_->send(one.in, partner, 0)->wait();
            group_->recv(one.out, partner, 0)->wait();
            if (!first) group_->send(one.in, partner, 0)->wait();
        };
    }

    // A window of messages one way, then a word back that all have come.
    [[nodiscard]] Call window(const AllMade& made) {
        const int partner = partner_of(rank_, size_);
        if (partner == rank_) return [](std::size_t) {};
        auto word = std::make_shared<Tensors>(Tensors{at::zeros({1})});
        const bool sends = rank_ % 2 == 0;
        return [this, made, partner, sends, word](std::size_t i) {
            std::vector<c10::intrusive_ptr<c10d::Work>> works;
            for (const at::Tensor& message : sends ? (*made)[i].in : (*made)[i].out) {
                Tensors one{message};
                works.push_back(sends ? group_->send(one, partner, 0)
                                      : group_->recv(one, partner, 0));
            }
            for (const auto& work : works) work->wait();
            (sends ? group_->recv(*word, partner, 1) : group_->send(*word, partner, 1))->wait();
        };
    }

    int rank_, size_;
    c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace
}  // namespace trireme::bench

int main() {
    using namespace trireme::bench;
    return serve([]() -> std::unique_ptr<Contestant> { return std::make_unique<Gloo>(); });
}
