#include "store/service.h"

#include <utility>

#include "store/protocol.h"
#include "trireme/error.h"

namespace trireme::store {
namespace {

Service::Reply ok() { return {Writer(Status::ok).take(), nullptr}; }

Service::Reply with_value(Value value) {
    return {Writer(Status::ok).u32(value->size()).take(), std::move(value)};
}

}  // namespace

void Service::handle(Client& client, std::string_view request) {
    Reader in(request);
    const auto verb = static_cast<Verb>(in.u8());
    switch (verb) {
        case Verb::set: {
            const auto key = in.key();
            const auto value = in.value();
            in.end();
            put(key, value);
            return client.answer(ok());
        }
        case Verb::get: {
            const Timeout timeout(in.i64());
            Wait wait{{std::string(in.key())}, 0, true};
            in.end();
            return start_wait(client, std::move(wait), timeout);
        }
        case Verb::wait: {
            const Timeout timeout(in.i64());
            Wait wait{in.keys(), 0, false};
            in.end();
            return start_wait(client, std::move(wait), timeout);
        }
        case Verb::add: {
            const auto key = in.key();
            const auto amount = in.i64();
            in.end();
            std::int64_t total = 0;
            try {
                total = table_.sum(key, amount);
            } catch (const Error& error) {
                return client.answer({Writer(Status::refused).bytes(error.what()).take(), nullptr});
            }
            put(key, std::to_string(total));
            return client.answer({Writer(Status::ok).i64(total).take(), nullptr});
        }
        case Verb::compare_set: {
            const auto key = in.key();
            const auto expected = in.value();
            const auto desired = in.value();
            in.end();
            if (table_.matches(key, expected)) {
                put(key, desired);
            }
            const Value value = table_.find(key);
            return client.answer(with_value(value ? value : std::make_shared<const std::string>()));
        }
        case Verb::delete_key: {
            const auto key = in.key();
            in.end();
            return client.answer({Writer(Status::ok).u8(table_.erase(key)).take(), nullptr});
        }
        case Verb::check: {
            const auto keys = in.keys();
            in.end();
            return client.answer(
                {Writer(Status::ok).u8(table_.missing(keys).empty()).take(), nullptr});
        }
        case Verb::num_keys: {
            in.end();
            const auto number = static_cast<std::int64_t>(table_.entries().size());
            return client.answer({Writer(Status::ok).i64(number).take(), nullptr});
        }
    }
    throw ProtocolError("unknown verb");
}

void Service::start_wait(Client& client, Wait wait, Timeout timeout) {
    Wait& kept = waits_[&client] = std::move(wait);
    if (!enroll(client, kept)) {
        return finish_wait(client);
    }
    client.park(timeout);
}

bool Service::enroll(Client& client, Wait& wait) {
    for (const std::string& key : table_.missing(wait.keys)) {
        wait.open += waiting_[key].insert(&client).second ? 1 : 0;
    }
    return wait.open > 0;
}

void Service::finish_wait(Client& client) {
    const auto found = waits_.find(&client);
    const Wait wait = std::move(found->second);
    waits_.erase(found);
    client.answer(wait.wants_value ? with_value(table_.find(wait.keys.front())) : ok());
}

void Service::put(std::string_view key, std::string_view value) {
    table_.set(key, value);
    if (waiting_.empty()) {
        return;
    }
    const auto node = waiting_.extract(std::string(key));
    if (node.empty()) {
        return;
    }
    for (Client* const client : node.mapped()) {
        const auto found = waits_.find(client);
        // The last key has come; one that came before it may have been deleted since.
        if (found != waits_.end() && --found->second.open == 0 && !enroll(*client, found->second)) {
            finish_wait(*client);
        }
    }
}

void Service::expire(Client& client) {
    if (const auto found = waits_.find(&client); found != waits_.end()) {
        const auto missing = table_.missing(found->second.keys);
        forget(client);
        client.answer({Writer(Status::timeout).keys(missing).take(), nullptr});
    }
}

void Service::forget(Client& client) noexcept {
    const auto found = waits_.find(&client);
    if (found == waits_.end()) {
        return;
    }
    for (const std::string& key : found->second.keys) {
        if (const auto entry = waiting_.find(key); entry != waiting_.end()) {
            entry->second.erase(&client);
            if (entry->second.empty()) {
                waiting_.erase(entry);
            }
        }
    }
    waits_.erase(found);
}

}  // namespace trireme::store
