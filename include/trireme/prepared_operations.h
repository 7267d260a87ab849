#pragma once

#include <optional>
#include <utility>

#include "trireme/op.h"
#include "trireme/operand.h"
#include "trireme/prepared.h"

namespace trireme {

/// The operations of `Group` in their prepared form: see `Prepared`. Apart from `Group` only
/// because that is long enough. Arguments are those of the plain forms.
template <class G>
class PreparedOperations {
public:
    template <WritableOperand X>
    Prepared prepare_broadcast(X&& data, Root root, Site site = Site::current()) const {
        return in_place(OpMakers::rooted(OpKind::broadcast, root, site), data);
    }
    template <WritableOperand X>
    Prepared prepare_all_reduce(X&& data, ReduceOp reduce = sum,
                                Site site = Site::current()) const {
        return in_place(OpMakers::reducing(OpKind::all_reduce, reduce, site), data);
    }
    template <LastingOperand In, WritableOperand Out>
    Prepared prepare_all_reduce(In&& in, Out&& out, ReduceOp reduce = sum,
                                Site site = Site::current()) const {
        return from_to(OpMakers::reducing(OpKind::all_reduce, reduce, site), in, out);
    }
    template <WritableOperand X>
    Prepared prepare_reduce(X&& data, Root root, ReduceOp reduce = sum,
                            Site site = Site::current()) const {
        return in_place(OpMakers::reducing(OpKind::reduce, reduce, site, root.rank), data);
    }
    template <LastingOperand In, WritableOperand Out>
    Prepared prepare_all_gather(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to(OpMakers::plain(OpKind::all_gather, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Prepared prepare_reduce_scatter(In&& in, Out&& out, ReduceOp reduce = sum,
                                    Site site = Site::current()) const {
        return from_to(OpMakers::reducing(OpKind::reduce_scatter, reduce, site), in, out);
    }
    template <LastingOperand In, WritableOperand Out>
    Prepared prepare_all_to_all(In&& in, Out&& out, Site site = Site::current()) const {
        return from_to(OpMakers::plain(OpKind::all_to_all, site), in, out);
    }
    Prepared prepare_barrier(Site site = Site::current()) const {
        return self().prepare(OpMakers::plain(OpKind::barrier, site), std::nullopt, std::nullopt);
    }
    template <LastingOperand X>
    Prepared prepare_send(X&& data, Peer peer, Tag tag = default_tag,
                          Site site = Site::current()) const {
        const Op op = OpMakers::to_peer(OpKind::send, peer, tag, site);
        return self().prepare(op, self().operand(op, data, Access::read, Hold::work), std::nullopt);
    }
    template <WritableOperand X>
    Prepared prepare_recv(X&& data, Peer peer, Tag tag = default_tag,
                          Site site = Site::current()) const {
        const Op op = OpMakers::to_peer(OpKind::recv, peer, tag, site);
        return self().prepare(op, std::nullopt,
                              self().operand(op, data, Access::write, Hold::work));
    }

private:
    [[nodiscard]] const G& self() const noexcept { return static_cast<const G&>(*this); }

    template <class X>
    Prepared in_place(const Op& op, X& data) const {
        return self().prepare(op, std::nullopt,
                              self().operand(op, data, Access::update, Hold::work));
    }
    template <class In, class Out>
    Prepared from_to(const Op& op, In& in, Out& out) const {
        return self().prepare(op, self().operand(op, in, Access::read, Hold::work),
                              self().operand(op, out, Access::write, Hold::work));
    }
};

}  // namespace trireme
