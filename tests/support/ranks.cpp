#include "support/ranks.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace trireme {

WorldOptions test_options(Transport transport) {
    WorldOptions options;
    options.timeout = Timeout(60'000);
    options.transport = transport;
    return options;
}

void run_ranks(int size, const std::function<void(World&)>& body, const WorldOptions& options) {
    const std::shared_ptr<Store> store = memory_store();
    std::mutex mutex;
    std::exception_ptr first;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank) {
        threads.emplace_back([&, rank] {
            try {
                World world = World::create(store, rank, size, options);
                body(world);
            } catch (...) {
                const std::lock_guard lock(mutex);
                if (!first) first = std::current_exception();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    if (first) std::rethrow_exception(first);
}

}  // namespace trireme
