#include "algorithm/prepare.h"

#include "core/pooled_vector.h"

namespace trireme {

namespace {

// Whether this rank's output is written at all.
bool has_result(const Call& call) noexcept {
    switch (call.op().kind) {
        case OpKind::reduce: return call.rank() == call.peer();
        case OpKind::exclusive_scan: return call.rank() > 0;
        default: return true;
    }
}

void prepare(const Op& op, const Buffer& from, const Buffer& to) {
    if (from.dtype != to.dtype) {
        widen(from.dtype, from.data, to.data, from.count);
        if (op.reduce.kind() == ReduceOp::Kind::premul_sum)
            scale(to.dtype, to.data, op.reduce.factor(), to.data, to.count);
    } else {
        scale(to.dtype, from.data, op.reduce.factor(), to.data, to.count);
    }
}

}  // namespace

bool needs_preparation(const Op& op) noexcept {
    if (!info(op.kind).reduces) return false;
    const Dtype dtype = (op.in.empty() ? op.out : op.in).front().dtype;
    return accumulation_dtype(dtype) != dtype || op.reduce.kind() == ReduceOp::Kind::premul_sum;
}

Task run_prepared(Call& call, const Algorithm& algorithm) {
    const Op& op = call.op();
    const Dtype wide = accumulation_dtype(call.dtype());
    const BlockPool::Block memory = call.working_memory(total_count(op.in) * size_of(wide));
    PooledVector<Buffer> in(call.pool(), op.in.size());
    std::byte* next = memory.data();
    for (const Buffer& part : op.in) {
        in.emplace_back(next, part.count, wide, part.device);
        if (!call.place().phantom) prepare(op, part, in.back());
        next += in.back().bytes();
    }
    const Buffer& target = call.out();
    const BlockPool::Block result_memory = call.working_memory(target.count * size_of(wide));
    const Buffer result = {result_memory.data(), target.count, wide, target.device};

    Op prepared = op;
    prepared.in = {in.begin(), in.size()};
    prepared.out = {&result, 1};
    if (op.reduce.kind() == ReduceOp::Kind::premul_sum) prepared.reduce = sum;
    Call part(call, prepared, {}, 0);
    co_await algorithm.run(part);
    if (!has_result(call) || call.place().phantom) co_return;
    if (target.dtype == wide)
        call.copy(result, target);
    else
        narrow(target.dtype, result.data, target.data, target.count);
}

}  // namespace trireme
