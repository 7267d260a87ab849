// MPI as a contestant of `trireme bench`: compiled once against each implementation.

// Its C++ bindings, of which headers of Open MPI are full, are not used.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "contest/contestant.h"
#include "contest/serve.h"

namespace trireme::bench {
namespace {

constexpr int tag = 7;

MPI_Datatype type_of(Element element) {
    switch (element) {
        case Element::float32: return MPI_FLOAT;
        case Element::float64: return MPI_DOUBLE;
        case Element::int8: return MPI_INT8_T;
        case Element::uint8: return MPI_UINT8_T;
        case Element::int32: return MPI_INT32_T;
        case Element::int64: return MPI_INT64_T;
        case Element::bfloat16:
        case Element::float16: break;
    }
    throw Refusal("MPI has no " + std::string(info(element).name));
}

MPI_Op reduction_of(const std::string& name) {
    if (name == "sum") return MPI_SUM;
    if (name == "prod") return MPI_PROD;
    if (name == "min") return MPI_MIN;
    if (name == "max") return MPI_MAX;
    throw Refusal("MPI has no " + name);
}

class Mpi final : public Contestant {
public:
    Mpi() {
        MPI_Init(nullptr, nullptr);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    ~Mpi() override { MPI_Finalize(); }

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }

    Call prepare(const Cell& cell, std::span<const Slot> all) override {
        const Slot* slots = all.data();
        const int part = static_cast<int>(cell.part(size_));
        const MPI_Datatype type = type_of(cell.element);
        const MPI_Op op = info(cell.operation).reduces ? reduction_of(cell.reduce) : MPI_SUM;
        const bool in_place = cell.in_place;
        const int rank = rank_;
        const auto input = [=](const Slot& slot) -> void* {
            return in_place ? MPI_IN_PLACE : slot.in;
        };
        switch (cell.operation) {
            case Operation::all_reduce:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Allreduce(input(slot), slot.out, part, type, op, MPI_COMM_WORLD);
                };
            case Operation::all_gather:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Allgather(input(slot), part, type, slot.out, part, type, MPI_COMM_WORLD);
                };
            case Operation::reduce_scatter:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Reduce_scatter_block(slot.in, slot.out, part, type, op, MPI_COMM_WORLD);
                };
            case Operation::broadcast:
                return [=](std::size_t i) {
                    MPI_Bcast(slots[i].out, part, type, slots[i].root, MPI_COMM_WORLD);
                };
            case Operation::all_to_all:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Alltoall(slot.in, part, type, slot.out, part, type, MPI_COMM_WORLD);
                };
            case Operation::barrier: return [](std::size_t) { MPI_Barrier(MPI_COMM_WORLD); };
            case Operation::reduce:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    if (rank == slot.root)
                        MPI_Reduce(MPI_IN_PLACE, slot.out, part, type, op, slot.root,
                                   MPI_COMM_WORLD);
                    else
                        MPI_Reduce(slot.out, nullptr, part, type, op, slot.root, MPI_COMM_WORLD);
                };
            case Operation::gather:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Gather(slot.in, part, type, slot.out, part, type, slot.root,
                               MPI_COMM_WORLD);
                };
            case Operation::scatter:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Scatter(slot.in, part, type, slot.out, part, type, slot.root,
                                MPI_COMM_WORLD);
                };
            case Operation::scan:
                return [=](std::size_t i) {
                    const Slot& slot = slots[i];
                    MPI_Scan(input(slot), slot.out, part, type, op, MPI_COMM_WORLD);
                };
            case Operation::sendrecv_latency: return ping_pong(slots, part, type);
            case Operation::sendrecv_bandwidth: return window(slots, part, type, cell);
        }
        throw Refusal("unknown operation");
    }

private:
    [[nodiscard]] Call ping_pong(const Slot* slots, int count, MPI_Datatype type) const {
        const int partner = partner_of(rank_, size_);
        if (partner == rank_) return [](std::size_t) {};
        if (rank_ % 2 == 0) {
            return [=](std::size_t i) {
                MPI_Send(slots[i].in, count, type, partner, tag, MPI_COMM_WORLD);
                MPI_Recv(slots[i].out, count, type, partner, tag, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            };
        }
        return [=](std::size_t i) {
            MPI_Recv(slots[i].out, count, type, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(slots[i].in, count, type, partner, tag, MPI_COMM_WORLD);
        };
    }

    // A window of messages one way, then a word back that all have come.
    [[nodiscard]] Call window(const Slot* slots, int count, MPI_Datatype type,
                              const Cell& cell) const {
        const int partner = partner_of(rank_, size_);
        if (partner == rank_) return [](std::size_t) {};
        const std::size_t bytes = static_cast<std::size_t>(count) * info(cell.element).size;
        auto requests = std::make_shared<std::vector<MPI_Request>>(cell.window());
        const bool sends = rank_ % 2 == 0;
        return [=](std::size_t i) {
            for (std::size_t m = 0; m < requests->size(); ++m) {
                MPI_Request* request = &(*requests)[m];
                if (sends)
                    MPI_Isend(slots[i].in + m * bytes, count, type, partner, tag, MPI_COMM_WORLD,
                              request);
                else
                    MPI_Irecv(slots[i].out + m * bytes, count, type, partner, tag, MPI_COMM_WORLD,
                              request);
            }
            MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
            char word = 0;
            if (sends)
                MPI_Recv(&word, 1, MPI_CHAR, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            else
                MPI_Send(&word, 1, MPI_CHAR, partner, tag, MPI_COMM_WORLD);
        };
    }

    int rank_ = 0;
    int size_ = 0;
};

}  // namespace
}  // namespace trireme::bench

int main() {
    using namespace trireme::bench;
    return serve([] { return std::make_unique<Mpi>(); });
}
