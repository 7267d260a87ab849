#include "ours.h"

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contest/contestant.h"
#include "contest/serve.h"
#include "trireme/trireme.h"

namespace trireme::bench {
namespace {

std::string rank_setting(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr) {
        throw std::runtime_error(std::string(name) + " is not set");
    }
    return value;
}

ReduceOp reduction_of(const std::string& name) {
    for (const ReduceOp op : {sum, prod, min, max, avg}) {
        if (trireme::name(op) == name) {
            return op;
        }
    }
    throw Refusal("no reduction " + name);
}

/// The calls of one element type, as a user writes them: on spans.
template <class T>
class Calls {
public:
    Calls(const Group& group, const Cell& cell, std::span<const Slot> slots)
        : group_(group),
          slots_(slots),
          in_count_(cell.in_count(group.size())),
          out_count_(cell.out_count(group.size())),
          in_place_(cell.in_place),
          window_(cell.window()) {}

    [[nodiscard]] Call of(Operation operation, ReduceOp op) const {
        const Calls& c = *this;
        switch (operation) {
            case Operation::all_reduce:
                if (in_place_) {
                    return [c, op](std::size_t i) { c.group_.all_reduce(c.out(i), op); };
                }
                return [c, op](std::size_t i) { c.group_.all_reduce(c.in(i), c.out(i), op); };
            case Operation::all_gather:
                return [c](std::size_t i) { c.group_.all_gather(c.in(i), c.out(i)); };
            case Operation::reduce_scatter:
                return [c, op](std::size_t i) { c.group_.reduce_scatter(c.in(i), c.out(i), op); };
            case Operation::broadcast:
                return [c](std::size_t i) { c.group_.broadcast(c.out(i), c.root(i)); };
            case Operation::all_to_all:
                return [c](std::size_t i) { c.group_.all_to_all(c.in(i), c.out(i)); };
            case Operation::barrier: return [c](std::size_t) { c.group_.barrier(); };
            case Operation::reduce:
                return [c, op](std::size_t i) { c.group_.reduce(c.out(i), c.root(i), op); };
            case Operation::gather:
                return [c](std::size_t i) { c.group_.gather(c.in(i), c.out(i), c.root(i)); };
            case Operation::scatter:
                return [c](std::size_t i) { c.group_.scatter(c.in(i), c.out(i), c.root(i)); };
            case Operation::scan:
                if (in_place_) {
                    return [c, op](std::size_t i) { c.group_.scan(c.out(i), op); };
                }
                return [c, op](std::size_t i) { c.group_.scan(c.in(i), c.out(i), op); };
            case Operation::sendrecv_latency: return ping_pong();
            case Operation::sendrecv_bandwidth: return window();
        }
        throw Refusal("unknown operation");
    }

private:
    [[nodiscard]] std::span<T> in(std::size_t slot, std::size_t message = 0) const {
        return {reinterpret_cast<T*>(slots_[slot].in) + message * in_count_, in_count_};
    }
    [[nodiscard]] std::span<T> out(std::size_t slot, std::size_t message = 0) const {
        return {reinterpret_cast<T*>(slots_[slot].out) + message * out_count_, out_count_};
    }
    [[nodiscard]] Root root(std::size_t slot) const { return Root{slots_[slot].root}; }
    [[nodiscard]] int partner() const { return partner_of(group_.rank(), group_.size()); }

    [[nodiscard]] Call ping_pong() const {
        const Calls& c = *this;
        const Peer peer{partner()};
        if (peer.rank == group_.rank()) {
            return [](std::size_t) {};
        }
        if (group_.rank() % 2 == 0) {
            return [c, peer](std::size_t i) {
                c.group_.send(c.in(i), peer);
                c.group_.recv(c.out(i), peer);
            };
        }
        return [c, peer](std::size_t i) {
            c.group_.recv(c.out(i), peer);
            c.group_.send(c.in(i), peer);
        };
    }

    // A window of messages one way, then a word back that all have come.
    [[nodiscard]] Call window() const {
        const Calls& c = *this;
        const Peer peer{partner()};
        if (peer.rank == group_.rank()) {
            return [](std::size_t) {};
        }
        const bool sends = group_.rank() % 2 == 0;
        auto works = std::make_shared<std::vector<Work>>(window_);
        return [c, peer, sends, works](std::size_t i) {
            for (std::size_t m = 0; m < works->size(); ++m) {
                (*works)[m] = sends ? c.group_.send_async(c.in(i, m), peer)
                                    : c.group_.recv_async(c.out(i, m), peer);
            }
            for (Work& work : *works) {
                work.wait();
            }
            char word = 0;
            if (sends) {
                c.group_.recv(word, peer);
            } else {
                c.group_.send(word, peer);
            }
        };
    }

    Group group_;
    std::span<const Slot> slots_;
    std::size_t in_count_, out_count_;
    bool in_place_;
    std::size_t window_;
};

class Ours final : public Contestant {
public:
    Ours()
        : world_(World::create(file_store(rank_setting("TRIREME_BENCH_STORE")),
                               std::stoi(rank_setting("RANK")),
                               std::stoi(rank_setting("WORLD_SIZE")))),
          group_(world_.group()) {}

    [[nodiscard]] int rank() const override { return world_.rank(); }
    [[nodiscard]] int size() const override { return world_.size(); }
    void barrier() override { group_.barrier(); }

    std::byte* allocate_shared(std::size_t bytes) override {
        shared_ = group_.allocate<std::byte>(bytes);
        return shared_.data();
    }

    Call prepare(const Cell& cell, std::span<const Slot> slots) override {
        const ReduceOp op = info(cell.operation).reduces ? reduction_of(cell.reduce) : sum;
        const auto calls = [&]<class T>(T) {
            return Calls<T>(group_, cell, slots).of(cell.operation, op);
        };
        switch (cell.element) {
            case Element::float32: return calls(float{});
            case Element::float64: return calls(double{});
            case Element::bfloat16: return calls(Bfloat16{});
            case Element::float16: return calls(Float16{});
            case Element::int8: return calls(std::int8_t{});
            case Element::uint8: return calls(std::uint8_t{});
            case Element::int32: return calls(std::int32_t{});
            case Element::int64: return calls(std::int64_t{});
        }
        throw Refusal("unknown element type");
    }

private:
    World world_;
    Group group_;
    SharedBuffer<std::byte> shared_;
};

}  // namespace

int serve_ours() {
    return serve([] { return std::make_unique<Ours>(); });
}

}  // namespace trireme::bench
