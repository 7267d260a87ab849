#pragma once

// Else msgpack asks for Boost.
#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif

#include <cstddef>
#include <msgpack.hpp>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "trireme/error.h"
#include "trireme/group.h"

/// C++ values that are not arrays of elements: anything that msgpack serialises, such as strings,
/// maps, optionals, and classes of one's own with MSGPACK_DEFINE. Needs msgpack-cxx. Counterpart:
/// the
/// `..._object` functions of torch.distributed.
///
/// A value travels with the name of its type: where the other side expects another one, the call
/// throws `mismatch`, naming both. All functions block and throw what the operations they are made
/// of throw; an object may be of any size that fits into memory.

namespace trireme {

namespace detail {

using ObjectBytes = std::vector<char>;

/// The name of a type as people write it.
[[nodiscard]] std::string type_name(const std::type_info& type);

/// `packed` behind the name of its type.
[[nodiscard]] ObjectBytes seal(const std::string& type, std::string_view packed);
/// What is behind the name; throws `mismatch` where that is another one or the bytes are none of
/// `seal`. `source` is the group rank that they are from.
[[nodiscard]] std::string_view open(const ObjectBytes& bytes, const std::string& type,
                                    const Group& group, int source);
[[noreturn]] void throw_unpackable(const std::string& type, const Group& group, int source,
                                   const char* why);

void broadcast_bytes(const Group& group, ObjectBytes& bytes, Root root, Site site);
[[nodiscard]] std::vector<ObjectBytes> all_gather_bytes(const Group& group,
                                                        const ObjectBytes& bytes, Site site);
[[nodiscard]] std::vector<ObjectBytes> gather_bytes(const Group& group, const ObjectBytes& bytes,
                                                    Root root, Site site);
[[nodiscard]] ObjectBytes scatter_bytes(const Group& group, const std::vector<ObjectBytes>& bytes,
                                        Root root, Site site);
void send_bytes(const Group& group, const ObjectBytes& bytes, Peer peer, Tag tag, Site site);
/// From `source`, or, where that is `AnySource::rank`, from anywhere, and then sets it.
[[nodiscard]] ObjectBytes recv_bytes(const Group& group, int& source, Tag tag, Site site);

template <class T>
[[nodiscard]] ObjectBytes pack_object(const T& value) {
    msgpack::sbuffer buffer;
    msgpack::pack(buffer, value);
    return seal(type_name(typeid(T)), {buffer.data(), buffer.size()});
}

template <class T>
[[nodiscard]] T unpack_object(const ObjectBytes& bytes, const Group& group, int source) {
    const std::string type = type_name(typeid(T));
    const std::string_view packed = open(bytes, type, group, source);
    try {
        // No count in the message can be larger than the message.
        const std::size_t most = packed.size();
        constexpr std::size_t deepest = 256;
        const msgpack::object_handle handle =
            msgpack::unpack(packed.data(), packed.size(), nullptr, nullptr,
                            msgpack::unpack_limit(most, most, most, most, most, deepest));
        return handle.get().as<T>();
    } catch (const std::exception& error) {
        throw_unpackable(type, group, source, error.what());
    }
}

template <class T>
[[nodiscard]] std::vector<T> unpack_objects(const std::vector<ObjectBytes>& all,
                                            const Group& group) {
    std::vector<T> values;
    values.reserve(all.size());
    for (std::size_t rank = 0; rank < all.size(); ++rank)
        values.push_back(unpack_object<T>(all[rank], group, static_cast<int>(rank)));
    return values;
}

}  // namespace detail

/// `root`'s value to every rank. torch.distributed.broadcast_object_list.
template <class T>
void broadcast_object(const Group& group, T& value, Root root, Site site = Site::current()) {
    detail::ObjectBytes bytes;
    if (group.rank() == root.rank) bytes = detail::pack_object(value);
    detail::broadcast_bytes(group, bytes, root, site);
    if (group.rank() != root.rank) value = detail::unpack_object<T>(bytes, group, root.rank);
}

/// Every rank's value, in rank order. torch.distributed.all_gather_object.
template <class T>
[[nodiscard]] std::vector<T> all_gather_object(const Group& group, const T& value,
                                               Site site = Site::current()) {
    return detail::unpack_objects<T>(
        detail::all_gather_bytes(group, detail::pack_object(value), site), group);
}

/// Every rank's value, in rank order, at `root`; elsewhere nothing.
/// torch.distributed.gather_object.
template <class T>
[[nodiscard]] std::vector<T> gather_object(const Group& group, const T& value, Root root,
                                           Site site = Site::current()) {
    return detail::unpack_objects<T>(
        detail::gather_bytes(group, detail::pack_object(value), root, site), group);
}

/// Value r of `root`'s list, which has one per rank, to each rank r; the others' list is not looked
/// at. torch.distributed.scatter_object_list.
template <class T>
[[nodiscard]] T scatter_object(const Group& group, const std::vector<T>& values, Root root,
                               Site site = Site::current()) {
    std::vector<detail::ObjectBytes> all;
    if (group.rank() == root.rank)
        for (const T& value : values) all.push_back(detail::pack_object(value));
    return detail::unpack_object<T>(detail::scatter_bytes(group, all, root, site), group,
                                    root.rank);
}

/// To `peer`, which receives it with `recv_object`. torch.distributed.send_object_list.
template <class T>
void send_object(const Group& group, const T& value, Peer peer, Tag tag = default_tag,
                 Site site = Site::current()) {
    detail::send_bytes(group, detail::pack_object(value), peer, tag, site);
}

/// From `peer`. torch.distributed.recv_object_list.
template <class T>
[[nodiscard]] T recv_object(const Group& group, Peer peer, Tag tag = default_tag,
                            Site site = Site::current()) {
    int source = peer.rank;
    const detail::ObjectBytes bytes = detail::recv_bytes(group, source, tag, site);
    return detail::unpack_object<T>(bytes, group, source);
}

/// From whichever rank's comes first, and that rank. No other receive under the same tag may be
/// under way.
template <class T>
[[nodiscard]] std::pair<T, int> recv_object(const Group& group, AnySource, Tag tag = default_tag,
                                            Site site = Site::current()) {
    int source = AnySource::rank;
    const detail::ObjectBytes bytes = detail::recv_bytes(group, source, tag, site);
    return {detail::unpack_object<T>(bytes, group, source), source};
}

}  // namespace trireme
