#include "core/control.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "core/dump_signal.h"
#include "core/engine.h"

namespace trireme {

namespace {

// What the thread waits for on behalf of one engine. It lives as long as a handler may run; a
// detached one has no engine any more.
struct Watch : std::enable_shared_from_this<Watch> {
    Watch(asio::io_context& context, Engine& watched)
        : engine(&watched), descriptor(context, ::dup(watched.descriptor())), timer(context) {}

    void turn() {
        if (engine == nullptr) return;
        const auto next = engine->background_turn();
        if (!next) return;  // parked until summoned, or gone
        if (!waiting) {
            waiting = true;
            descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                  [self = shared_from_this()](const asio::error_code& error) {
                                      self->waiting = false;
                                      if (!error) self->turn();
                                  });
        }
        timer.expires_at(*next);
        timer.async_wait([self = shared_from_this()](const asio::error_code& error) {
            if (!error) self->turn();
        });
    }

    Engine* engine;
    asio::posix::stream_descriptor descriptor;
    asio::steady_timer timer;
    bool waiting = false;
};

}  // namespace

struct Control::Impl {
    asio::io_context context{1};
    asio::executor_work_guard<asio::io_context::executor_type> guard{context.get_executor()};
    std::mutex mutex;
    std::map<Engine*, std::shared_ptr<Watch>> watches;
    std::thread thread;

    std::optional<asio::posix::stream_descriptor> dump_bell;
    std::mutex listeners_mutex;  // held while they are called
    std::vector<DumpListener*> listeners;

    void listen_for_dumps() {
        const int bell = dump_signal_descriptor();
        const int own = bell < 0 ? -1 : ::fcntl(bell, F_DUPFD_CLOEXEC, 0);
        if (own < 0) return;
        dump_bell.emplace(context, own);
        static_cast<void>(was_rung());  // when there was no world: nobody is meant
        await_dump_bell();
    }
    [[nodiscard]] bool was_rung() {
        std::uint64_t rings = 0;
        return ::read(dump_bell->native_handle(), &rings, sizeof(rings)) == sizeof(rings);
    }
    void await_dump_bell() {
        dump_bell->async_wait(asio::posix::stream_descriptor::wait_read,
                              [this](const asio::error_code& error) {
                                  if (error) return;
                                  if (was_rung()) {
                                      const std::lock_guard lock(listeners_mutex);
                                      for (DumpListener* listener : listeners)
                                          listener->dump_wanted();
                                  }
                                  await_dump_bell();
                              });
    }

    [[nodiscard]] bool is_this_thread() const noexcept {
        return std::this_thread::get_id() == thread.get_id();
    }
};

std::shared_ptr<Control> Control::instance() {
    static std::mutex mutex;
    static std::weak_ptr<Control> current;
    const std::lock_guard lock(mutex);
    auto control = current.lock();
    if (!control) {
        control = std::make_shared<Control>();
        current = control;
    }
    return control;
}

Control::Control() : impl_(std::make_shared<Impl>()) {
    impl_->listen_for_dumps();
    // The thread may be the one that ends the last world: it keeps what it runs on.
    impl_->thread = std::thread([impl = impl_] { impl->context.run(); });
}

Control::~Control() {
    impl_->guard.reset();
    impl_->context.stop();
    if (impl_->is_this_thread())
        impl_->thread.detach();
    else
        impl_->thread.join();
}

void Control::attach(Engine& engine) {
    const std::lock_guard lock(impl_->mutex);
    impl_->watches.emplace(&engine, std::make_shared<Watch>(impl_->context, engine));
}

void Control::detach(Engine& engine) {
    std::shared_ptr<Watch> watch;
    {
        const std::lock_guard lock(impl_->mutex);
        const auto found = impl_->watches.find(&engine);
        watch = std::move(found->second);
        impl_->watches.erase(found);
    }
    const auto forget = [&watch] {
        watch->engine = nullptr;
        watch->descriptor.close();
        watch->timer.cancel();
    };
    // A callback may end its world.
    if (impl_->is_this_thread()) return forget();
    std::promise<void> done;
    asio::post(impl_->context, [&] {
        forget();
        done.set_value();
    });
    done.get_future().wait();
}

void Control::summon(Engine& engine) {
    const std::lock_guard lock(impl_->mutex);
    asio::post(impl_->context, [watch = impl_->watches.at(&engine)] { watch->turn(); });
}

void Control::add(DumpListener& listener) {
    const std::lock_guard lock(impl_->listeners_mutex);
    impl_->listeners.push_back(&listener);
}

void Control::remove(DumpListener& listener) noexcept {
    const std::lock_guard lock(impl_->listeners_mutex);
    std::erase(impl_->listeners, &listener);
}

}  // namespace trireme
