#include "core/control.h"

#include <unistd.h>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <future>
#include <map>
#include <mutex>
#include <thread>

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

}  // namespace trireme
