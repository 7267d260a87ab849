#include "core/execution.h"

#include <utility>

namespace trireme {

void Execution::complete(std::exception_ptr error) noexcept {
    wind_up(error);
    error_ = std::move(error);
    engine_.ended(*this);
    ended_.store(true, std::memory_order_release);
}

void Execution::on_end(std::function<void(std::exception_ptr)> callback) {
    {
        const std::lock_guard lock(engine_.mutex());
        if (!ended()) {
            will_call_back();
            callbacks_.push_back(std::move(callback));
            return;
        }
    }
    callback(error_);
}

}  // namespace trireme
