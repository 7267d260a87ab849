#include "group/bootstrap_hello.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace trireme::bootstrap {

namespace {

constexpr std::size_t most_descriptors = 2;

struct alignas(cmsghdr) ControlMessage {
    char bytes[CMSG_SPACE(most_descriptors * sizeof(int))] = {};
};

bool would_block() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

bool send_hello(int socket, const Hello& hello, const std::vector<int>& descriptors) noexcept {
    Hello copy = hello;
    iovec content{&copy, sizeof(copy)};
    ControlMessage control;
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        const std::size_t bytes = std::min(descriptors.size(), most_descriptors) * sizeof(int);
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(bytes);
        cmsghdr* part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(part), descriptors.data(), bytes);
    }
    // A socket that is new has room for so little.
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(copy));
}

Received receive_hello(int socket, Hello& hello, std::vector<UniqueFd>& descriptors) {
    iovec content{&hello, sizeof(hello)};
    ControlMessage control;
    msghdr message{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    const ssize_t bytes = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (bytes < 0) return would_block() ? Received::partly : Received::failed;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            descriptors.emplace_back(fd);
        }
    }
    const bool whole = bytes == static_cast<ssize_t>(sizeof(hello)) &&
                       (message.msg_flags & MSG_TRUNC) == 0 && hello.magic == Hello{}.magic;
    return whole ? Received::complete : Received::failed;
}

}  // namespace trireme::bootstrap
