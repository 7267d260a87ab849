// Tensors that travel with their shape: a message of fixed size that says what follows, then the
// elements under the same tag.

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "torch/describe.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {

namespace {

constexpr std::size_t max_dimensions = 8;
constexpr std::uint32_t tensor_magic = 0x736e6574;  // "tens"
constexpr std::uint16_t header_version = 1;

/// What travels before the elements.
struct Header {
    std::uint32_t magic = tensor_magic;
    std::uint16_t version = header_version;
    std::uint8_t dtype = 0;
    std::uint8_t dimensions = 0;
    std::array<std::int64_t, max_dimensions> sizes{};
};

using HeaderBytes = std::array<std::byte, sizeof(Header)>;
static_assert(sizeof(Header) == 72, "the header has no padding");

struct Shape {
    Dtype dtype;
    at::IntArrayRef sizes;
};

std::uint64_t host_memory() {
    return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
           static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What a header says, if it can be believed; else throws, before anything is allocated.
class HeaderCheck {
public:
    HeaderCheck(const Group& group, Peer peer, Tag tag) : group_(group), peer_(peer), tag_(tag) {}

    [[nodiscard]] Shape read(const Header& header) const {
        if (header.magic != tensor_magic) {
            fail(
                fmt::format("does not come from send_tensor: it begins with {:#010x}, not {:#010x}",
                            header.magic, tensor_magic));
        }
        if (header.version != header_version) {
            fail(fmt::format("has a header of version {}, this build reads version {}",
                             header.version, header_version));
        }
        const auto dtype = static_cast<Dtype>(header.dtype);
        if (size_of(dtype) == 0) fail(fmt::format("has the unknown dtype {}", header.dtype));
        if (header.dimensions > max_dimensions) {
            fail(fmt::format("has {} dimensions, more than {}", header.dimensions, max_dimensions));
        }
        const at::IntArrayRef sizes(header.sizes.data(), header.dimensions);
        check_size(sizes, size_of(dtype));
        return {dtype, sizes};
    }

private:
    void check_size(at::IntArrayRef sizes, std::size_t element) const {
        std::uint64_t bytes = element;
        bool empty = false;
        for (const std::int64_t size : sizes) {
            if (size < 0) fail(fmt::format("has the size {}", size));
            empty = empty || size == 0;
        }
        if (empty) return;
        for (const std::int64_t size : sizes) {
            const auto factor = static_cast<std::uint64_t>(size);
            if (factor > std::numeric_limits<std::uint64_t>::max() / bytes) {
                fail("is larger than any address space");
            }
            bytes *= factor;
        }
        if (bytes > host_memory()) {
            fail(fmt::format("needs {} bytes, but this host has only {}", bytes, host_memory()));
        }
    }

    [[noreturn]] void fail(const std::string& why) const {
        throw Error(ErrorCode::mismatch,
                    fmt::format("recv_tensor in group {}: the message of rank {} under tag {} {}",
                                group_.name(), peer_.rank, tag_.value, why),
                    {group_.ranks()[static_cast<std::size_t>(peer_.rank)]});
    }

    const Group& group_;
    Peer peer_;
    Tag tag_;
};

}  // namespace

void Group::send_tensor(const at::Tensor& tensor, Peer peer, Tag tag, Site site) const {
    detail::refuse_in_coalesce(*this, "send_tensor");
    Op op = to_peer(OpKind::send, peer, tag, site);
    if (tensor.defined() && static_cast<std::size_t>(tensor.dim()) > max_dimensions) {
        refuse_argument(
            op, Error(ErrorCode::unsupported,
                      fmt::format("send_tensor: {} has {} dimensions, more than {}; send a view of "
                                  "fewer, and restore the shape on the other side",
                                  describe(tensor), tensor.dim(), max_dimensions)));
    }
    // Made first, so that a tensor which cannot travel is refused before its header has.
    const Operand elements = operand(op, tensor, Access::read, Hold::call);
    Header header;
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
    const Header header = std::bit_cast<Header>(bytes);
    const auto [dtype, sizes] = HeaderCheck(*this, peer, tag).read(header);
    at::Tensor tensor = at::empty(sizes, to_scalar_type(dtype));
    recv(tensor, peer, tag, site);
    return tensor;
}

}  // namespace trireme
