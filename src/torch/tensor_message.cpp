// Tensors that travel with their shape: a message of fixed size that says what follows, then the
// elements under the same tag.

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "core/tensor_header.h"
#include "torch/describe.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

using HeaderBytes = std::array<std::byte, sizeof(TensorHeader)>;

}  // namespace

void Group::send_tensor(const at::Tensor& tensor, Peer peer, Tag tag, Site site) const {
    detail::refuse_in_coalesce(*this, "send_tensor");
    Op op = to_peer(OpKind::send, peer, tag, site);
    if (tensor.defined() && static_cast<std::size_t>(tensor.dim()) > TensorHeader::max_dimensions) {
        refuse_argument(
            op, Error(ErrorCode::unsupported,
                      fmt::format("send_tensor: {} has {} dimensions, more than {}; send a view of "
                                  "fewer, and restore the shape on the other side",
                                  describe(tensor), tensor.dim(), TensorHeader::max_dimensions)));
    }
    // Made first, so that a tensor which cannot travel is refused before its header has.
    const Operand elements = operand(op, tensor, Access::read, Hold::call);
    TensorHeader header;
    header.dtype = static_cast<std::uint8_t>(elements.buffer.dtype);
    header.dimensions = static_cast<std::uint8_t>(tensor.dim());
    std::copy(tensor.sizes().begin(), tensor.sizes().end(), header.sizes.begin());

    send(std::bit_cast<HeaderBytes>(header), peer, tag, site);
    op.in = {&elements.buffer, 1};
    run(op);
}

at::Tensor Group::recv_tensor(Peer peer, Tag tag, Site site) const {
    detail::refuse_in_coalesce(*this, "recv_tensor");
    HeaderBytes bytes{};
    recv(bytes, peer, tag, site);
    const auto header = std::bit_cast<TensorHeader>(bytes);
    if (const auto problem = header.problem()) {
        throw Error(ErrorCode::mismatch,
                    fmt::format("recv_tensor in group {}: the message of rank {} under tag {} {}",
                                name(), peer.rank, tag.value, *problem),
                    {ranks()[static_cast<std::size_t>(peer.rank)]});
    }
    const auto shape = header.shape();
    at::Tensor tensor =
        at::empty(at::IntArrayRef(shape.data(), shape.size()), to_scalar_type(header.element()));
    recv(tensor, peer, tag, site);
    return tensor;
}

}  // namespace trireme
