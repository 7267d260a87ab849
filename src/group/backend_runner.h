#pragma once

#include <memory>

#include "core/engine.h"
#include "trireme/backend.h"

namespace trireme {

/// Lets an engine drive a backend.
class BackendRunner final : public Pollable {
public:
    BackendRunner(Engine& engine, std::unique_ptr<Backend> backend)
        : engine_(engine), backend_(std::move(backend)) {
        const Engine::Turn turn(engine_);
        engine_.add(*this, true, backend_->descriptor());
    }
    BackendRunner(const BackendRunner&) = delete;
    BackendRunner& operator=(const BackendRunner&) = delete;
    ~BackendRunner() override {
        const Engine::Turn turn(engine_);
        engine_.remove(*this, backend_->descriptor());
    }

    [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
    bool poll() override { return backend_->poll(); }
    bool descriptor_ready() override { return backend_->poll(); }

private:
    Engine& engine_;
    std::unique_ptr<Backend> backend_;
};

}  // namespace trireme
