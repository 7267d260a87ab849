#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "trireme/op.h"
#include "trireme/store.h"

namespace trireme {

/// What a backend gets to know of the group that it is to serve.
struct BackendContext {
    int rank = 0;                      ///< this process's, in the group
    std::span<const int> world_ranks;  ///< of each rank of the group
    std::string group;                 ///< its name
    std::shared_ptr<Store> store;      ///< a part of the world's store for this group alone
};

/// Runs the operations of a group in place of Trireme's own links and algorithms. Register a
/// factory under a name in `WorldOptions::backends`, and ask for it by `GroupOptions::backend`. The
/// group still validates, numbers, keeps deadlines and hands out `Work`. Counterpart:
/// c10d::Backend.
///
/// All functions are called under one mutex of the world: they must not block, nor use the world.
class Backend {
public:
    /// To be called once, with null or what went wrong, from within `submit` or `poll`.
    using Done = std::function<void(std::exception_ptr)>;

    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    /// Whether it can run an operation of this kind, dtype and form: the group refuses others.
    [[nodiscard]] virtual bool can(const Op& op) const = 0;

    /// Starts an operation. What `op` points to, and `op` itself, live until `done` was called.
    virtual void submit(const Op& op, Done done) = 0;

    /// Moves on what was started; returns whether anything moved.
    virtual bool poll() = 0;

    /// Becomes readable when `poll` has something to do; -1: `poll` is called now and then.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }

    /// The group has failed. When this returns, no buffer is touched any more; what was started
    /// counts as ended.
    virtual void abort(const std::string& reason) noexcept = 0;
};

/// Makes a backend for a group; all members do so at the same time. May block, and throw `Error`.
using BackendFactory = std::function<std::unique_ptr<Backend>(const BackendContext&)>;

}  // namespace trireme
