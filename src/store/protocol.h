#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/limits.h"

// The protocol of the TCP store. All numbers are little-endian.
//
// Hello. The client opens with 12 bytes, the text "TRIREME?" and the version as u32, and a nonce;
// the server answers with "TRIREME!", its version, a random u64 that tells it from the next server
// on the same port, and its nonce: a client that has to connect again shall not go on in another
// store. The two texts differ, so that a socket which TCP has connected to itself (that happens
// when a free port is tried again and again) is found out. The server drops a connection whose
// first 12 bytes are anything else, or do not come soon.
//
// Proof. The client sends its proof that it knows the job's token (store/proof.h), the server a u8
// verdict and, where that is `welcome`, its own proof. The client speaks first, so that a stranger
// learns nothing that depends on the token. Without a token both prove that they have none, and the
// server lets in processes of its own host only.
//
// Frames. Then the client sends one request at a time and the server answers each with one
// reply, in order. Both are frames: u32 length, then as many bytes. A frame longer than
// `max_frame_size` costs the sender its connection, and a buffer grows only as bytes arrive.
//
//     request: u8 verb, then its arguments           reply: u8 status, then its results
//     bytes:   u32 length, then as many bytes        keys:  u32 count, then as many bytes
//
//     verb         arguments                                  results
//     set          bytes key, bytes value
//     get          i64 timeout in ms, bytes key               bytes value
//     wait         i64 timeout in ms, keys
//     add          bytes key, i64 amount                      i64 total
//     compare_set  bytes key, bytes expected, bytes desired   bytes value afterwards
//     delete_key   bytes key                                  u8 whether it existed
//     check        keys                                       u8 whether all exist
//     num_keys                                                i64 number
//
// Waiting. The server holds the reply to get and wait back until the keys are there, or until
// their timeout has passed: then the status is `timeout` and the result the keys that are
// missing. While it holds a reply, any byte that arrives breaks the protocol, and the end of the
// stream ends the wait. A client that gives up earlier closes its connection. Threads that wait
// at the same time have a connection each. The status `refused` carries bytes: why.
namespace trireme::store {

inline constexpr std::uint32_t protocol_version = 2;
inline constexpr std::size_t hello_size = 12;
inline constexpr std::size_t server_id_size = 8;  // follows the server's hello

/// Room for the largest request, a compare_set, and for a wait on very many keys.
inline constexpr std::size_t max_frame_size = 2 * max_value_size + max_key_size + 64;

enum class Verdict : std::uint8_t { welcome, tokens_differ, other_host };
enum class Verb : std::uint8_t { set, get, wait, add, compare_set, delete_key, check, num_keys };
enum class Status : std::uint8_t { ok, timeout, refused };

[[nodiscard]] std::string client_hello();
[[nodiscard]] std::string server_hello();
[[nodiscard]] std::string new_server_id();
[[nodiscard]] std::string client_proof(std::string_view token, std::string_view client_nonce,
                                       std::string_view server_nonce);
[[nodiscard]] std::string server_proof(std::string_view token, std::string_view client_nonce,
                                       std::string_view server_nonce);

/// The four bytes before a frame, and back.
[[nodiscard]] std::string encode_length(std::size_t length);
[[nodiscard]] std::size_t decode_length(std::string_view bytes);

/// Bytes that are no message of this protocol.
struct ProtocolError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Builds the inside of a frame.
class Writer {
public:
    template <class Code>
    explicit Writer(Code code) : out_(1, static_cast<char>(code)) {}

    Writer& u8(std::uint8_t number);
    Writer& u32(std::size_t number);
    Writer& i64(std::int64_t number);
    Writer& bytes(std::string_view data);
    template <class Keys>
    Writer& keys(const Keys& list) {
        u32(list.size());
        for (const std::string& key : list) {
            bytes(key);
        }
        return *this;
    }

    [[nodiscard]] std::string take() noexcept { return std::move(out_); }

private:
    std::string out_;
};

/// Takes the inside of a frame apart; throws ProtocolError where it is too short or too long.
class Reader {
public:
    explicit Reader(std::string_view in) : in_(in) {}

    [[nodiscard]] std::uint8_t u8();
    [[nodiscard]] std::uint32_t u32();
    [[nodiscard]] std::int64_t i64();
    [[nodiscard]] std::string_view bytes();
    [[nodiscard]] std::string_view key();
    [[nodiscard]] std::string_view value();
    [[nodiscard]] std::vector<std::string> keys();
    void end() const;

private:
    [[nodiscard]] std::string_view take(std::size_t size);
    [[nodiscard]] std::uint64_t number(std::size_t size);

    std::string_view in_;
};

}  // namespace trireme::store
