// Objects are byte strings here: their length travels first, then they do. No msgpack in this file.

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "core/host_memory.h"
#include "trireme/error.h"
#include "trireme/group.h"

namespace trireme::detail {

using ObjectBytes = std::vector<char>;

namespace {

constexpr std::uint32_t magic = 0x6a626f74;  // "tobj"

struct Header {
    std::uint32_t begins = magic;
    std::uint32_t name_bytes = 0;
};

// The length, of an object that is to come, if this host could hold it.
std::size_t believable(std::uint64_t bytes, const Group& group, int source) {
    const std::uint64_t memory = host_memory();
    if (bytes > memory)
        throw Error(ErrorCode::mismatch,
                    fmt::format("group \"{}\": rank {} announces an object of {} bytes, more than "
                                "the {} of this host's memory; does it call the same function?",
                                group.name(), source, bytes, memory),
                    {group.world_rank_of(source)});
    return bytes;
}

std::vector<std::size_t> believable(const std::vector<std::uint64_t>& all, const Group& group) {
    std::vector<std::size_t> lengths;
    std::uint64_t sum = 0;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
        sum += believable(all[rank], group, static_cast<int>(rank));
        lengths.push_back(believable(sum, group, static_cast<int>(rank)) - (sum - all[rank]));
    }
    return lengths;
}

std::vector<ObjectBytes> sized(const std::vector<std::size_t>& lengths) {
    std::vector<ObjectBytes> all;
    for (const std::size_t length : lengths) all.emplace_back(length);
    return all;
}

}  // namespace

std::string type_name(const std::type_info& type) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
    return name ? name.get() : type.name();
}

ObjectBytes seal(const std::string& type, std::string_view packed) {
    const Header header{.name_bytes = static_cast<std::uint32_t>(type.size())};
    ObjectBytes bytes(sizeof(header) + type.size() + packed.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    type.copy(bytes.data() + sizeof(header), type.size());
    packed.copy(bytes.data() + sizeof(header) + type.size(), packed.size());
    return bytes;
}

void throw_unpackable(const std::string& type, const Group& group, int source, const char* why) {
    throw Error(ErrorCode::mismatch,
                fmt::format("group \"{}\": what came from rank {} is not a whole {}: {}",
                            group.name(), source, type, why),
                {group.world_rank_of(source)});
}

std::string_view open(const ObjectBytes& bytes, const std::string& type, const Group& group,
                      int source) {
    const std::string_view all(bytes.data(), bytes.size());
    Header header{};
    if (all.size() >= sizeof(header)) std::memcpy(&header, all.data(), sizeof(header));
    if (all.size() < sizeof(header) || header.begins != magic ||
        header.name_bytes > all.size() - sizeof(header))
        throw_unpackable(type, group, source, "it is no object");
    const std::string_view theirs = all.substr(sizeof(header), header.name_bytes);
    if (theirs != type)
        throw Error(ErrorCode::mismatch,
                    fmt::format("group \"{}\": rank {} sent an object of type {}, but this rank "
                                "expects {}",
                                group.name(), source, theirs, type),
                    {group.world_rank_of(source)});
    return all.substr(sizeof(header) + header.name_bytes);
}

void broadcast_bytes(const Group& group, ObjectBytes& bytes, Root root, Site site) {
    refuse_in_coalesce(group, "broadcast_object");
    std::uint64_t length = bytes.size();
    group.broadcast(length, root, site);
    bytes.resize(believable(length, group, root.rank));
    group.broadcast(bytes, root, site);
}

std::vector<ObjectBytes> all_gather_bytes(const Group& group, const ObjectBytes& bytes, Site site) {
    refuse_in_coalesce(group, "all_gather_object");
    std::vector<std::uint64_t> lengths(static_cast<std::size_t>(group.size()));
    group.all_gather(std::uint64_t{bytes.size()}, lengths, site);
    std::vector<ObjectBytes> all = sized(believable(lengths, group));
    group.all_gather(bytes, all, site);
    return all;
}

std::vector<ObjectBytes> gather_bytes(const Group& group, const ObjectBytes& bytes, Root root,
                                      Site site) {
    refuse_in_coalesce(group, "gather_object");
    const bool is_root = group.rank() == root.rank;
    std::vector<std::uint64_t> lengths(is_root ? static_cast<std::size_t>(group.size()) : 0);
    group.gather(std::uint64_t{bytes.size()}, lengths, root, site);
    std::vector<ObjectBytes> all = sized(believable(lengths, group));
    group.gather(bytes, all, root, site);
    return all;
}

ObjectBytes scatter_bytes(const Group& group, const std::vector<ObjectBytes>& bytes, Root root,
                          Site site) {
    refuse_in_coalesce(group, "scatter_object");
    if (group.rank() == root.rank && bytes.size() != static_cast<std::size_t>(group.size()))
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("scatter_object on group \"{}\": {} values for {} ranks; give one "
                                "for each",
                                group.name(), bytes.size(), group.size()));
    std::vector<std::uint64_t> lengths;
    for (const ObjectBytes& one : bytes) lengths.push_back(one.size());
    std::uint64_t length = 0;
    group.scatter(lengths, length, root, site);
    ObjectBytes own(believable(length, group, root.rank));
    group.scatter(bytes, own, root, site);
    return own;
}

void send_bytes(const Group& group, const ObjectBytes& bytes, Peer peer, Tag tag, Site site) {
    refuse_in_coalesce(group, "send_object");
    const std::uint64_t length = bytes.size();
    group.send(length, peer, tag, site);
    group.send(bytes, peer, tag, site);
}

ObjectBytes recv_bytes(const Group& group, int& source, Tag tag, Site site) {
    refuse_in_coalesce(group, "recv_object");
    std::uint64_t length = 0;
    if (source == AnySource::rank)
        source = group.recv(length, any_source, tag, site);
    else
        group.recv(length, Peer{source}, tag, site);
    ObjectBytes bytes(believable(length, group, source));
    group.recv(bytes, Peer{source}, tag, site);
    return bytes;
}

}  // namespace trireme::detail
