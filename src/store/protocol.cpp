#include "store/protocol.h"

#include "store/proof.h"

namespace trireme::store {
namespace {

void append(std::string& out, std::uint64_t number, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        out += static_cast<char>(number >> (8 * i));
    }
}

std::uint64_t parse(std::string_view bytes) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        number |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    return number;
}

std::string hello(std::string_view text) {
    std::string out(text);
    append(out, protocol_version, 4);
    return out;
}

}  // namespace

std::string client_hello() { return hello("TRIREME?"); }

std::string server_hello() { return hello("TRIREME!"); }

std::string new_server_id() { return random_bytes(server_id_size); }

std::string client_proof(std::string_view token, std::string_view client_nonce,
                         std::string_view server_nonce) {
    return prove(token, {"trireme store client", client_nonce, server_nonce});
}

std::string server_proof(std::string_view token, std::string_view client_nonce,
                         std::string_view server_nonce) {
    return prove(token, {"trireme store server", client_nonce, server_nonce});
}

std::string encode_length(std::size_t length) {
    std::string out;
    append(out, length, 4);
    return out;
}

std::size_t decode_length(std::string_view bytes) { return parse(bytes); }

Writer& Writer::u8(std::uint8_t number) {
    append(out_, number, 1);
    return *this;
}

Writer& Writer::u32(std::size_t number) {
    append(out_, number, 4);
    return *this;
}

Writer& Writer::i64(std::int64_t number) {
    append(out_, static_cast<std::uint64_t>(number), 8);
    return *this;
}

Writer& Writer::bytes(std::string_view data) {
    u32(data.size());
    out_ += data;
    return *this;
}

std::string_view Reader::take(std::size_t size) {
    if (size > in_.size()) {
        throw ProtocolError("a frame is too short for what it announces");
    }
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
}

std::uint64_t Reader::number(std::size_t size) { return parse(take(size)); }

std::uint8_t Reader::u8() { return static_cast<std::uint8_t>(number(1)); }

std::uint32_t Reader::u32() { return static_cast<std::uint32_t>(number(4)); }

std::int64_t Reader::i64() { return static_cast<std::int64_t>(number(8)); }

std::string_view Reader::bytes() { return take(u32()); }

std::string_view Reader::key() {
    const std::string_view out = bytes();
    if (out.size() > max_key_size) {
        throw ProtocolError("a key is too long");
    }
    return out;
}

std::string_view Reader::value() {
    const std::string_view out = bytes();
    if (out.size() > max_value_size) {
        throw ProtocolError("a value is too long");
    }
    return out;
}

std::vector<std::string> Reader::keys() {
    std::vector<std::string> out;
    // No reserve: the count is a stranger's claim, and must be backed by bytes.
    for (std::uint32_t left = u32(); left > 0; --left) {
        out.emplace_back(key());
    }
    return out;
}

void Reader::end() const {
    if (!in_.empty()) {
        throw ProtocolError("a frame has bytes left over");
    }
}

}  // namespace trireme::store
