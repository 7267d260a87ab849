#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conformance/image.h"
#include "trireme/group.h"

namespace trireme::conformance {

/// Of the ring that a send stands for.
[[nodiscard]] inline Peer target_of(const Group& group, const Cell& cell) {
    return Peer((group.rank() + cell.root) % group.size());
}
[[nodiscard]] inline Peer source_of(const Group& group, const Cell& cell) {
    return Peer((group.rank() + group.size() - cell.root) % group.size());
}
[[nodiscard]] inline Tag tag_of(const Cell& cell) { return Tag(static_cast<int>(cell.seed % 3)); }

/// The blocking call of a cell, on whatever the library takes. In place: `out` is what both sides
/// are in where they are the same.
template <class T>
void call(const Group& group, const Cell& cell, T& in, T& out, bool in_place) {
    const ReduceOp op = reduce_op(cell.reduction, group.rank());
    const Root root(cell.root);
    switch (cell.kind) {
        case OpKind::broadcast: return group.broadcast(out, root);
        case OpKind::all_reduce:
            return in_place ? group.all_reduce(out, op) : group.all_reduce(in, out, op);
        case OpKind::reduce: return group.reduce(out, root, op);
        case OpKind::all_gather: return group.all_gather(in, out);
        case OpKind::gather: return group.gather(in, out, root);
        case OpKind::scatter: return group.scatter(in, out, root);
        case OpKind::reduce_scatter: return group.reduce_scatter(in, out, op);
        case OpKind::all_to_all: return group.all_to_all(in, out);
        case OpKind::barrier: return group.barrier();
        case OpKind::scan: return in_place ? group.scan(out, op) : group.scan(in, out, op);
        case OpKind::exclusive_scan:
            return in_place ? group.exclusive_scan(out, op) : group.exclusive_scan(in, out, op);
        default: {
            Work receive = group.recv_async(out, source_of(group, cell), tag_of(cell));
            group.send(in, target_of(group, cell), tag_of(cell));
            return receive.wait();
        }
    }
}

/// The buffers of one rank for a cell, and how it calls the library with them.
class Caller {
public:
    Caller(const Group& group, const Cell& cell) : group_(group), cell_(cell), rank_(group.rank()) {
        const Lengths lengths = lengths_of(cell, rank_, group.size());
        const Shape shape = info(cell.kind).shape;
        const bool at_root = rank_ == cell.root;
        const bool needs_in = !info(cell.kind).in_only_at_root || at_root;
        const bool needs_out = !info(cell.kind).out_only_at_root || at_root;
        in_place_ = cell.in_place && needs_in && needs_out;
        const Parts in_form = shape == Shape::gathered ? Parts::whole : cell.parts;
        const Parts out_form = shape == Shape::scattered ? Parts::whole : cell.parts;
        // What is not looked at may be anything: here nothing.
        const std::vector<std::size_t> none{0};
        in_ = Image(cell.dtype, needs_in ? in_form : Parts::whole, needs_in ? lengths.in : none);
        out_ =
            Image(cell.dtype, needs_out ? out_form : Parts::whole, needs_out ? lengths.out : none);
        in_argument_ = in_.argument();
        out_argument_ = out_.argument();
        if (!in_place_) return;
        if (shape == Shape::scattered)
            out_argument_ = in_.part(rank_);
        else
            in_argument_ = shape == Shape::gathered ? out_.part(rank_) : out_argument_;
    }
    Caller(const Caller&) = delete;  // its arguments point into it
    Caller& operator=(const Caller&) = delete;

    /// Puts the contents of a round into the buffers.
    void fill(const Round& round) {
        const Bytes& in = round.in[static_cast<std::size_t>(rank_)];
        const auto& out = round.out[static_cast<std::size_t>(rank_)];
        const Shape shape = info(cell_.kind).shape;
        const bool has_in = !info(cell_.kind).in_only_at_root || rank_ == cell_.root;
        out_.clear();
        in_.clear();
        if (has_in && (!in_place_ || shape == Shape::scattered)) in_.write(in);
        if (in_place_ && shape == Shape::same) out_.write(in);
        if (in_place_ && shape == Shape::gathered) out_.write_part(rank_, in.data());
        wanted_in_ = in_;
        wanted_out_ = out_;
        if (!out) return;
        if (in_place_ && shape == Shape::scattered)
            wanted_in_.write_part(rank_, out->data());
        else
            wanted_out_.write(*out);
    }

    /// What is wrong with the buffers; empty where nothing is.
    [[nodiscard]] std::string mistake() const {
        // Which zero a complex product has depends on the order of multiplications.
        const bool loose = class_of(cell_.dtype) == DtypeClass::complex &&
                           cell_.reduction.kind == ReduceOp::Kind::prod;
        const std::string in = in_.difference(wanted_in_, loose);
        const std::string out = out_.difference(wanted_out_, loose);
        return (in.empty() ? "" : "input, " + in + ". ") + (out.empty() ? "" : "output, " + out);
    }

    /// The blocking form.
    void run() { call(group_, cell_, in_argument_, out_argument_, in_place_); }

    /// The started form: one handle, or two where a message goes both ways.
    void start(std::vector<Work>& works) {
        const ReduceOp op = reduce_op(cell_.reduction, rank_);
        const Root root(cell_.root);
        Argument& in = in_argument_;
        Argument& out = out_argument_;
        const auto start = [&]() -> Work {
            switch (cell_.kind) {
                case OpKind::broadcast: return group_.broadcast_async(out, root);
                case OpKind::all_reduce:
                    return in_place_ ? group_.all_reduce_async(out, op)
                                     : group_.all_reduce_async(in, out, op);
                case OpKind::reduce: return group_.reduce_async(out, root, op);
                case OpKind::all_gather: return group_.all_gather_async(in, out);
                case OpKind::gather: return group_.gather_async(in, out, root);
                case OpKind::scatter: return group_.scatter_async(in, out, root);
                case OpKind::reduce_scatter: return group_.reduce_scatter_async(in, out, op);
                case OpKind::all_to_all: return group_.all_to_all_async(in, out);
                case OpKind::barrier: return group_.barrier_async();
                case OpKind::scan:
                case OpKind::exclusive_scan:
                    if (in_place_)
                        return cell_.kind == OpKind::scan ? group_.scan_async(out, op)
                                                          : group_.exclusive_scan_async(out, op);
                    return group_.start({.kind = cell_.kind, .reduce = op}, operand(in),
                                        operand(out));
                default:
                    works.push_back(group_.recv_async(out, source(), tag()));
                    return group_.send_async(in, target(), tag());
            }
        };
        works.push_back(start());
    }

    /// The prepared form.
    void prepare(std::vector<Prepared>& steps) {
        const ReduceOp op = reduce_op(cell_.reduction, rank_);
        const Root root(cell_.root);
        Argument& in = in_argument_;
        Argument& out = out_argument_;
        const auto prepare = [&]() -> Prepared {
            switch (cell_.kind) {
                case OpKind::broadcast: return group_.prepare_broadcast(out, root);
                case OpKind::all_reduce:
                    return in_place_ ? group_.prepare_all_reduce(out, op)
                                     : group_.prepare_all_reduce(in, out, op);
                case OpKind::reduce: return group_.prepare_reduce(out, root, op);
                case OpKind::all_gather: return group_.prepare_all_gather(in, out);
                case OpKind::reduce_scatter: return group_.prepare_reduce_scatter(in, out, op);
                case OpKind::all_to_all: return group_.prepare_all_to_all(in, out);
                case OpKind::barrier: return group_.prepare_barrier();
                case OpKind::send:
                    steps.push_back(group_.prepare_recv(out, source(), tag()));
                    return group_.prepare_send(in, target(), tag());
                default: break;
            }
            // These have no name of their own.
            Op asked{.kind = cell_.kind, .reduce = op};
            if (info(cell_.kind).has_root) asked.peer = cell_.root;
            std::optional<Operand> input = operand(in);
            std::optional<Operand> output = operand(out);
            if (rank_ != cell_.root && cell_.kind == OpKind::gather) output.reset();
            if (rank_ != cell_.root && cell_.kind == OpKind::scatter) input.reset();
            return group_.prepare(asked, std::move(input), std::move(output));
        };
        steps.push_back(prepare());
    }

private:
    static Operand operand(const Argument& argument) {
        return OperandTraits<Argument>::make(argument, Access::update, Hold::work);
    }
    [[nodiscard]] Peer target() const { return target_of(group_, cell_); }
    [[nodiscard]] Peer source() const { return source_of(group_, cell_); }
    [[nodiscard]] Tag tag() const { return tag_of(cell_); }

    const Group& group_;
    Cell cell_;
    int rank_;
    bool in_place_ = false;
    Image in_, out_, wanted_in_, wanted_out_;
    Argument in_argument_, out_argument_;
};

/// Runs a cell on this rank; returns what went wrong, empty where nothing did. `algorithm`: the one
/// that must run it, where that is known.
[[nodiscard]] inline std::string run_cell(const Group& group, const Cell& cell,
                                          const std::vector<Round>& rounds,
                                          std::string_view algorithm = {}) {
    std::string wrong;
    const auto check = [&](const Caller& caller, std::size_t round) {
        const std::string mistake = caller.mistake();
        if (!mistake.empty()) wrong += "round " + std::to_string(round) + ": " + mistake;
    };
    if (cell.mode == Mode::started) {
        std::vector<std::unique_ptr<Caller>> callers;
        std::vector<Work> works;
        for (const Round& round : rounds) {
            callers.push_back(std::make_unique<Caller>(group, cell));
            callers.back()->fill(round);
            callers.back()->start(works);
        }
        for (const Work& work : works)
            if (!algorithm.empty() && work.algorithm() != algorithm)
                wrong += "ran as " + std::string(work.algorithm());
        // The last first: each must go on without being waited for.
        for (std::size_t i = works.size(); i-- > 0;) works[i].wait();
        for (std::size_t i = 0; i < callers.size(); ++i) check(*callers[i], i);
        return wrong;
    }
    Caller caller(group, cell);
    std::vector<Prepared> steps;
    if (cell.mode == Mode::prepared) caller.prepare(steps);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
        caller.fill(rounds[i]);
        if (cell.mode == Mode::blocking) caller.run();
        for (Prepared& step : steps) step.start();
        for (Prepared& step : steps) step.wait();
        check(caller, i);
    }
    return wrong;
}

}  // namespace trireme::conformance
