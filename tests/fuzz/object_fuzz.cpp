// A C++ value that comes from another rank. The first byte chooses which type is expected; the
// header that names the type is put before the rest where the byte is even.

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "fuzz/target.h"
#include "trireme/error.h"
#include "trireme/object.h"
#include "trireme/trireme.h"

namespace trireme::fuzz {
namespace {

using Numbers = std::vector<std::int32_t>;
using Table = std::map<std::string, std::optional<std::vector<double>>>;
using Mixed = std::tuple<bool, std::string, std::vector<std::vector<std::uint8_t>>>;

template <class T>
void unpack(bool sealed, std::string_view bytes, const Group& group) {
    const detail::ObjectBytes object = sealed ? detail::seal(detail::type_name(typeid(T)), bytes)
                                              : detail::ObjectBytes(bytes.begin(), bytes.end());
    try {
        (void)detail::unpack_object<T>(object, group, 0);
    } catch (const Error&) {
    }
}

template <class T>
std::string packed(char choice, const T& value) {
    msgpack::sbuffer buffer;
    msgpack::pack(buffer, value);
    return choice + std::string(buffer.data(), buffer.size());
}

}  // namespace

std::vector<std::string> seeds() {
    const auto whole = detail::pack_object(Numbers{1, 2, 3});
    return {packed('\0', Numbers{1, -2, 1'000'000}),
            packed('\2', Table{{"a", std::vector<double>{1.5}}, {"b", std::nullopt}}),
            packed('\4', Mixed{true, "text", {{1, 2}, {}}}),
            '\6' + std::string(300, '\x91'),  // arrays in arrays
            '\6' + std::string("\xdd\xff\xff\xff\xff"),
            '\1' + std::string(whole.begin(), whole.end())};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme;
    using namespace trireme::fuzz;
    static const World world = World::create(memory_store(), 0, 1, WorldOptions{});
    static const Group group = world.group();
    Input in(data, size);
    const unsigned choice = in.byte();
    const bool sealed = choice % 2 == 0;
    switch (choice / 2 % 4) {
        case 0: unpack<Numbers>(sealed, in.rest(), group); break;
        case 1: unpack<Table>(sealed, in.rest(), group); break;
        case 2: unpack<Mixed>(sealed, in.rest(), group); break;
        default: unpack<std::vector<std::string>>(sealed, in.rest(), group); break;
    }
    return 0;
}
