#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

/// How two ends of a connection show each other that both know a secret, without sending it: each
/// draws a nonce, and each sends a keyed hash over both of them (HMAC-SHA256) and its role. Nobody
/// can answer with what it has heard before, or send an end's own proof back to it.
namespace trireme::store {

inline constexpr std::size_t nonce_size = 32;
inline constexpr std::size_t proof_size = 32;

/// The token of this process's job: TRIREME_TOKEN; empty where that is not set. Never printed.
[[nodiscard]] std::string job_token();

/// Bytes that nobody can guess.
[[nodiscard]] std::string random_bytes(std::size_t size);

/// "00ff7f".
[[nodiscard]] std::string in_hex(std::string_view bytes);

/// The proof of whoever knows `key`, over these parts; also derives a key from another one.
[[nodiscard]] std::string prove(std::string_view key,
                                std::initializer_list<std::string_view> parts);

/// Compares in a time that does not tell where two proofs differ.
[[nodiscard]] bool same_proof(std::string_view a, std::string_view b) noexcept;

}  // namespace trireme::store
