#include "core/frame_pool.h"

#include <array>
#include <new>
#include <vector>

namespace trireme {

namespace {

constexpr std::size_t granule = 128;
constexpr std::size_t classes = 32;  // frames up to 4 KiB are recycled
constexpr std::size_t kept_per_class = 32;

// Under AddressSanitizer every frame comes from the allocator, so that a use after its end shows.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool recycle = false;
#else
constexpr bool recycle = true;
#endif

constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return (bytes + granule - 1) / granule;
}

class Pool {
public:
    Pool() {
        for (auto& list : free_) list.reserve(kept_per_class);
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    ~Pool() {
        for (auto& list : free_)
            for (void* frame : list) ::operator delete(frame);
    }

    std::vector<void*>& list(std::size_t index) noexcept { return free_[index]; }

private:
    std::array<std::vector<void*>, classes + 1> free_;
};

Pool& pool() {
    thread_local Pool instance;
    return instance;
}

}  // namespace

void* take_frame(std::size_t bytes) {
    const std::size_t index = class_of(bytes);
    if (!recycle || index > classes) return ::operator new(bytes);
    auto& list = pool().list(index);
    if (list.empty()) return ::operator new(index * granule);
    void* frame = list.back();
    list.pop_back();
    return frame;
}

void return_frame(void* frame, std::size_t bytes) noexcept {
    const std::size_t index = class_of(bytes);
    if (recycle && index <= classes) {
        auto& list = pool().list(index);
        if (list.size() < kept_per_class) {
            list.push_back(frame);  // within the reserved capacity: cannot throw
            return;
        }
    }
    ::operator delete(frame);
}

}  // namespace trireme
