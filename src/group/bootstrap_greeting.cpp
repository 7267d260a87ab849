#include "group/bootstrap_greeting.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace trireme::bootstrap {

namespace {

constexpr const char* ended = "the connection was accepted, but ended before an answer";
constexpr const char* other = "something else than that rank answers";

template <class T>
std::string_view bytes_of(const T& object) noexcept {
    return {reinterpret_cast<const char*>(&object), sizeof(object)};
}

// A socket that is new has room for so little.
bool say(int socket, std::string_view bytes) noexcept {
    return ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
}

}  // namespace

Greeting::Greeting(const Context& context, Side side) : context_(context), side_(side) {
    mine_.rank = context.rank;
    mine_.size = context.size;
    const std::string nonce = store::random_bytes(store::nonce_size);
    std::copy(nonce.begin(), nonce.end(), mine_.nonce.begin());
}

bool Greeting::open(int socket) const noexcept { return say(socket, bytes_of(mine_)); }

Received Greeting::go_on(int socket, std::string& problem) {
    problem = ended;
    if (!introduced_) {
        const Received received = take_hello(socket, problem);
        if (received != Received::complete) return received;
        introduced_ = true;
        const bool said = side_ == Side::connects ? say(socket, proof(side_)) : open(socket);
        return said ? Received::partly : Received::failed;
    }
    const Received received = take(socket, their_proof_.data(), their_proof_.size());
    if (received != Received::complete) return received;
    const Side their_side = side_ == Side::connects ? Side::accepts : Side::connects;
    if (!store::same_proof(bytes_of(their_proof_), proof(their_side))) {
        problem = other;
        return Received::failed;
    }
    const bool told = side_ == Side::connects || say(socket, proof(side_));
    return told ? Received::complete : Received::failed;
}

Received Greeting::take_hello(int socket, std::string& problem) {
    const Received received = take(socket, reinterpret_cast<char*>(&theirs_), sizeof(theirs_));
    if (received == Received::failed) return received;
    // What cannot be a rank is dropped at once.
    const std::size_t known = received == Received::complete ? sizeof(theirs_) : bytes_;
    const bool like_one =
        std::memcmp(&theirs_, mine_.magic.data(), std::min(known, mine_.magic.size())) == 0;
    const bool fits = theirs_.size == context_.size && theirs_.rank >= 0 &&
                      theirs_.rank < context_.size && theirs_.rank != context_.rank;
    if (like_one && (received == Received::partly || fits)) return received;
    problem = other;
    return Received::failed;
}

Received Greeting::take(int socket, char* target, std::size_t size) noexcept {
    const ssize_t more = ::recv(socket, target + bytes_, size - bytes_, 0);
    if (more < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
        return Received::partly;
    }
    if (more <= 0) return Received::failed;
    bytes_ += static_cast<std::size_t>(more);
    if (bytes_ < size) return Received::partly;
    bytes_ = 0;
    return Received::complete;
}

std::string Greeting::proof(Side side) const {
    const bool connecting = side_ == Side::connects;
    return store::prove(context_.link_key, {side == Side::connects ? "connects" : "accepts",
                                            bytes_of(connecting ? mine_ : theirs_),
                                            bytes_of(connecting ? theirs_ : mine_)});
}

}  // namespace trireme::bootstrap
