#pragma once

#include <memory>

namespace trireme {

class Engine;

/// Wants to know when the process is asked to write down what it does: see `dump_signal`.
class DumpListener {
public:
    virtual void dump_wanted() noexcept = 0;

protected:
    ~DumpListener() = default;
};

/// The one background thread of the process. It drives engines that have operations in flight while
/// nobody waits for them, and sleeps otherwise. It exists while an engine does.
class Control {
public:
    [[nodiscard]] static std::shared_ptr<Control> instance();

    Control();
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    ~Control();

    void attach(Engine& engine);
    /// After this returns the thread does not touch `engine` again.
    void detach(Engine& engine);
    /// The engine wants turns: now, and whenever its descriptor becomes readable.
    void summon(Engine& engine);

    /// The thread calls it from now on; after `remove` has returned it does not any more.
    void add(DumpListener& listener);
    void remove(DumpListener& listener) noexcept;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace trireme
