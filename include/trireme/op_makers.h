#pragma once

#include "trireme/op.h"
#include "trireme/reduce_op.h"
#include "trireme/types.h"

namespace trireme {

/// The `Op` of a call, without its buffers.
struct OpMakers {
    static Op plain(OpKind kind, Site site) noexcept { return {.kind = kind, .site = site}; }
    static Op rooted(OpKind kind, Root root, Site site) noexcept {
        return {.kind = kind, .peer = root.rank, .site = site};
    }
    static Op reducing(OpKind kind, ReduceOp reduce, Site site, int root = -1) noexcept {
        return {.kind = kind, .reduce = reduce, .peer = root, .site = site};
    }
    static Op to_peer(OpKind kind, Peer peer, Tag tag, Site site) noexcept {
        return {.kind = kind, .peer = peer.rank, .tag = tag.value, .site = site};
    }
    static Op from_any(Tag tag, Site site) noexcept {
        return {.kind = OpKind::recv, .peer = AnySource::rank, .tag = tag.value, .site = site};
    }
};

}  // namespace trireme
