#include "doctor_lookup.h"

#include <algorithm>
#include <future>
#include <thread>

#include <fmt/format.h>

namespace trireme::tool {

store::Resolved look_up(const std::string& host, std::chrono::seconds patience) {
    // The C library cannot be told to stop: the thread is left alone, and ends with the program.
    std::packaged_task<store::Resolved()> task(
        [host] { return store::resolve({store::without_brackets(host), 0}); });
    std::future<store::Resolved> result = task.get_future();
    std::thread(std::move(task)).detach();
    if (result.wait_for(patience) != std::future_status::ready) {
        return {{}, fmt::format("no answer of the resolver within {} s", patience.count())};
    }
    return result.get();
}

std::string host_of(const store::Address& address) {
    const std::string text = address.text();
    return store::without_brackets(text.substr(0, text.rfind(':')));
}

std::vector<std::string> texts_of(const std::vector<store::Address>& addresses) {
    std::vector<std::string> texts;
    for (const store::Address& address : addresses) {
        texts.push_back(host_of(address));
    }
    std::ranges::sort(texts);
    const auto doubles = std::ranges::unique(texts);
    texts.erase(doubles.begin(), doubles.end());
    return texts;
}

}  // namespace trireme::tool
