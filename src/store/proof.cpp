#include "store/proof.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <climits>
#include <cstdint>
#include <cstdlib>

#include "trireme/error.h"

namespace trireme::store {
namespace {

unsigned char* as_bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

}  // namespace

std::string job_token() {
    const char* const token = std::getenv("TRIREME_TOKEN");
    return token == nullptr ? "" : token;
}

std::string random_bytes(std::size_t size) {
    std::string out(size, '\0');
    if (::RAND_bytes(as_bytes(out), static_cast<int>(size)) != 1) {
        throw Error(ErrorCode::system, "OpenSSL cannot draw random numbers");
    }
    return out;
}

std::string in_hex(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) {
        out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    }
    return out;
}

std::string prove(std::string_view key, std::initializer_list<std::string_view> parts) {
    // With the length of each part, no two lists of parts read alike.
    std::string message;
    for (const std::string_view part : parts) {
        message += fmt::format("{}:", part.size());
        message += part;
    }
    std::string out(proof_size, '\0');
    unsigned size = 0;
    if (key.size() > INT_MAX ||
        ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), as_bytes(message),
               message.size(), as_bytes(out), &size) == nullptr ||
        size != proof_size) {
        throw Error(ErrorCode::system, "OpenSSL cannot compute an HMAC-SHA256");
    }
    return out;
}

bool same_proof(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace trireme::store
