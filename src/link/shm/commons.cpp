#include "link/shm/commons.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "link/link.h"
#include "trireme/error.h"

namespace trireme {

namespace {

constexpr std::size_t commons_header_bytes = 4096;
static_assert(sizeof(commons::Header) <= commons_header_bytes);

}  // namespace

std::size_t Commons::bytes_for(std::size_t members) noexcept {
    return commons_header_bytes + members * sizeof(commons::Member);
}

Commons::Commons(const Owner& owner, UniqueFd descriptor, shm::Mapping mapping)
    : engine_(owner.engine),
      links_(owner.links.begin(), owner.links.end()),
      rank_(owner.rank),
      descriptor_(std::move(descriptor)),
      mapping_(std::move(mapping)),
      members_(reinterpret_cast<commons::Member*>(mapping_.data() + commons_header_bytes)) {
    for (std::size_t rank = 0; rank < links_.size(); ++rank)
        if (rank != static_cast<std::size_t>(rank_)) peers_.push_back(links_[rank]);
}

Commons::Commons(const Owner& owner)
    : Commons(owner, shm::make_sealed_memory("trireme-commons", bytes_for(owner.links.size())),
              {}) {
    const std::size_t bytes = bytes_for(links_.size());
    mapping_ = shm::Mapping(descriptor_.get(), 0, bytes, true);
    if (!mapping_)
        throw Error(ErrorCode::system, fmt::format("cannot map {} KiB of a group's memory: {}",
                                                   bytes / 1024, std::strerror(errno)));
    // All else is zeros, which is its initial state; pages that nobody touches cost nothing.
    members_ = reinterpret_cast<commons::Member*>(mapping_.data() + commons_header_bytes);
    auto* facts = new (mapping_.data()) commons::Header;
    facts->members = static_cast<std::uint32_t>(links_.size());
    facts->stream = owner.stream;
    facts->token = owner.token;
    member(rank_).mapped.store(1, std::memory_order_relaxed);
    facts->version = commons::layout_version;
    facts->magic = commons::magic;
}

std::unique_ptr<Commons> Commons::open(const Owner& owner, const shm::DescriptorAddress& address) {
    const std::size_t bytes = bytes_for(owner.links.size());
    const UniqueFd descriptor = address.open(true);
    if (!shm::is_sealed_memory(descriptor, bytes)) return nullptr;
    shm::Mapping mapping(descriptor.get(), 0, bytes, true);
    if (!mapping) return nullptr;
    auto& facts = *reinterpret_cast<commons::Header*>(mapping.data());
    if (facts.magic != commons::magic || facts.version != commons::layout_version ||
        facts.members != owner.links.size() || facts.stream != owner.stream ||
        facts.token != owner.token)
        return nullptr;
    std::unique_ptr<Commons> opened(new Commons(owner, UniqueFd(), std::move(mapping)));
    opened->member(owner.rank).mapped.store(1, std::memory_order_relaxed);
    return opened;
}

Commons::~Commons() {
    if (!waits_.empty()) engine_.remove(*this, -1);
}

shm::DescriptorAddress Commons::address() const noexcept { return {::getpid(), descriptor_.get()}; }

bool Commons::look_for_room(std::uint64_t number) noexcept {
    std::uint64_t least = done_;
    for (int rank = 0; rank < static_cast<int>(links_.size()); ++rank) {
        // The heads of cells first: this member has read them just now.
        std::uint64_t done = 0;
        for (const commons::Cell& one : member(rank).cells)
            done = std::max(done, one.done.load(std::memory_order_acquire));
        if (done + commons::depth < number)
            done = member(rank).done.load(std::memory_order_acquire);
        least = std::min(least, done);
    }
    // What others know of this member is not what counts here.
    least_done_ = std::max(least_done_, least);
    return number <= least_done_ + commons::depth;
}

void Commons::publish(std::uint64_t number, std::uint64_t fingerprint) noexcept {
    commons::Cell& own = cell(rank_, number);
    // Whoever compares what was there before must not take the new fingerprint for the old one.
    own.number.store(0, std::memory_order_relaxed);
    own.fingerprint.store(fingerprint, std::memory_order_release);
    own.done.store(done_, std::memory_order_relaxed);
    own.number.store(number, std::memory_order_release);
    shown_ = number;
    // The peers still have the next cell in their caches; taking it back takes as long as what they
    // write takes to get here, and is better done meanwhile.
    __builtin_prefetch(&cell(rank_, number + 1), 1);
    for (Link* link : peers_) link->wake_peer();
}

void Commons::leave(std::uint64_t number) noexcept {
    cell(rank_, number).left.store(number, std::memory_order_release);
    for (Link* link : peers_) link->wake_peer();
}

void Commons::finish(std::uint64_t number) noexcept {
    if (number == done_ + 1 && done_ahead_.empty()) {
        ++done_;
    } else {
        // Started ones that send messages may end far ahead of one that waits for room here.
        done_ahead_.insert(std::ranges::upper_bound(done_ahead_, number), number);
        auto next = done_ahead_.begin();
        for (; next != done_ahead_.end() && *next == done_ + 1; ++next) ++done_;
        done_ahead_.erase(done_ahead_.begin(), next);
    }
    member(rank_).done.store(done_, std::memory_order_release);
    if (descriptor_) static_cast<void>(is_settled());
}

bool Commons::is_settled() noexcept {
    if (!descriptor_) return true;
    for (int rank = 0; rank < static_cast<int>(links_.size()); ++rank)
        if (member(rank).mapped.load(std::memory_order_relaxed) == 0 &&
            !links_[static_cast<std::size_t>(rank)]->gone())
            return false;
    descriptor_.reset();
    return true;
}

bool Commons::has_passed(int rank, std::uint64_t number) const noexcept {
    return !has_come(rank, number) &&
           std::ranges::any_of(member(rank).cells, [&](const commons::Cell& one) {
               return one.number.load(std::memory_order_acquire) > number;
           });
}

// Of any two members that made different calls one at least sees it: a cell is used again only when
// all are done with it, and whoever is about to use its own compares first.
std::optional<Commons::Stranger> Commons::find_stranger(std::uint64_t before) noexcept {
    // What lay in this member's cells before is gone.
    if (shown_ > commons::depth) compared_ = std::max(compared_, shown_ - commons::depth);
    const std::uint64_t end = std::min(before, shown_ + 1);
    for (std::uint64_t number = compared_ + 1; number < end; ++number) {
        // Another operation's by now: it was compared, or never shown.
        const std::uint64_t own = cell(rank_, number).number.load(std::memory_order_relaxed);
        bool all = own >= number;
        for (int rank = 0; rank < static_cast<int>(links_.size()); ++rank) {
            const std::uint64_t shown = cell(rank, number).number.load(std::memory_order_acquire);
            all = all && shown >= number;
            if (shown != number || own != number) continue;
            const std::uint64_t theirs = this->fingerprint(rank, number);
            if (!has_come(rank, number)) continue;  // gone on meanwhile
            if (theirs != this->fingerprint(rank_, number)) return Stranger{rank, number, theirs};
        }
        if (all || own > number) compared(number);
    }
    return std::nullopt;
}

bool Commons::Wait::over() const noexcept {
    // Who makes another call may never come to this one.
    if (commons_.has_uncompared(number_) && commons_.find_stranger(number_)) return true;
    if (rank_ < 0) return commons_.is_free(number_);
    // Its cell is not used again before this member is done with the operation, too.
    if (until_ == Until::left)
        return commons_.cell(rank_, number_).left.load(std::memory_order_acquire) == number_;
    return commons_.has_come(rank_, number_) || commons_.has_passed(rank_, number_);
}

bool Commons::Wait::await_ready() {
    // What is there already counts, whatever happened since.
    if (rank_ >= 0 && over()) return true;
    error_ = commons_.failure_;
    if (error_) return true;
    if (rank_ < 0) return commons_.waiting_for_room_ == 0 && over();
    // What it brought before it left would be there.
    const Link& link = *commons_.links_[static_cast<std::size_t>(rank_)];
    if (link.gone()) error_ = std::make_exception_ptr(link.farewell());
    return error_ != nullptr;
}

void Commons::Wait::await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    if (rank_ < 0) ++commons_.waiting_for_room_;
    commons_.enlist(*this);
}

void Commons::Wait::await_resume() {
    if (rank_ < 0 && waiter_) --commons_.waiting_for_room_;
    if (error_) std::rethrow_exception(error_);
}

void Commons::enlist(Wait& wait) {
    if (waits_.empty()) engine_.add(*this, true, -1);
    waits_.push_back(&wait);
}

bool Commons::poll() {
    bool moved = false;
    bool full = false;
    for (std::size_t i = 0; i < waits_.size();) {
        Wait& wait = *waits_[i];
        const bool wants_room = wait.rank_ < 0;
        // Room is given in the order of the operations: nobody may seem to have passed one.
        if ((wants_room && full) || !wait.over()) {
            full = full || wants_room;
            ++i;
            continue;
        }
        waits_.erase(waits_.begin() + static_cast<std::ptrdiff_t>(i));
        engine_.ready().push(wait.waiter_);
        moved = true;
    }
    if (moved && waits_.empty()) engine_.remove(*this, -1);
    return moved;
}

std::vector<int> Commons::awaited() const {
    std::vector<int> ranks;
    const auto add = [&](int rank) {
        if (rank != rank_ && std::ranges::find(ranks, rank) == ranks.end()) ranks.push_back(rank);
    };
    for (const Wait* wait : waits_) {
        if (wait->rank_ >= 0) {
            add(wait->rank_);
            continue;
        }
        for (int rank = 0; rank < static_cast<int>(links_.size()); ++rank)
            if (member(rank).done.load(std::memory_order_acquire) + commons::depth < wait->number_)
                add(rank);
    }
    return ranks;
}

void Commons::fail(const std::exception_ptr& error) {
    if (!failure_) failure_ = error;
    if (waits_.empty()) return;
    engine_.remove(*this, -1);
    for (Wait* wait : std::exchange(waits_, {})) {
        wait->error_ = error;
        engine_.ready().push(wait->waiter_);
    }
}

}  // namespace trireme
