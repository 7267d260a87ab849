#include "store/protocol.h"

#include <gtest/gtest.h>

#include "store/endpoint.h"

namespace trireme::store {
namespace {

TEST(Protocol, ReadsWhatItWrites) {
    const std::vector<std::string> keys = {"a", "", std::string("\0b", 2)};
    const std::string message = Writer(Verb::wait).i64(-2).u8(7).bytes("x").keys(keys).take();
    Reader in(message);
    EXPECT_EQ(static_cast<Verb>(in.u8()), Verb::wait);
    EXPECT_EQ(in.i64(), -2);
    EXPECT_EQ(in.u8(), 7);
    EXPECT_EQ(in.value(), "x");
    EXPECT_EQ(in.keys(), keys);
    in.end();
    EXPECT_THROW((void)in.u8(), ProtocolError);
    EXPECT_EQ(decode_length(encode_length(0x89abcdef)), 0x89abcdefU);
    EXPECT_EQ(client_hello().size(), hello_size);
    EXPECT_EQ(server_hello().size(), hello_size);
}

TEST(Protocol, RefusesEveryCutOffMessage) {
    const std::string message =
        Writer(Verb::set).bytes("key").keys(std::vector<std::string>{"k"}).take();
    for (std::size_t size = 0; size < message.size(); ++size) {
        const std::string_view part(message.data(), size);
        EXPECT_THROW(
            {
                Reader in(part);
                (void)in.u8();
                (void)in.key();
                (void)in.keys();
            },
            ProtocolError);
    }
    const std::string long_key = Writer(Verb::set).bytes(std::string(5000, 'k')).take();
    Reader in(long_key);
    (void)in.u8();
    EXPECT_THROW((void)in.key(), ProtocolError);
    EXPECT_THROW(Reader("x").end(), ProtocolError);
}

TEST(Endpoint, IsParsedStrictly) {
    for (const char* const text : {"node1:1", "10.0.0.1:65535", "[::1]:80", "a.b-c:29500"}) {
        const auto endpoint = parse_endpoint(text);
        ASSERT_TRUE(endpoint) << text;
        EXPECT_EQ(endpoint->text(), text);
    }
    for (const char* const text : {"", ":", ":1", "a", "a:", "a:0", "a:65536", "a:-1", "a:1x",
                                   "a: 1", "::1:80", "[::1]", "[]:1", "[::1:80", "a b:1", "a:+1"}) {
        EXPECT_FALSE(parse_endpoint(text)) << text;
    }
}

TEST(Endpoint, ResolvesNumbersAndNames) {
    const Resolved four = resolve({"127.0.0.1", 80});
    ASSERT_EQ(four.addresses.size(), 1U);
    EXPECT_EQ(four.addresses[0].text(), "127.0.0.1:80");
    EXPECT_TRUE(four.addresses[0].is_loopback());
    EXPECT_TRUE(is_local(four.addresses[0]));
    EXPECT_FALSE(is_local(resolve({"198.51.100.77", 80}).addresses.at(0)));
    const Resolved six = resolve({"::1", 80});
    ASSERT_EQ(six.addresses.size(), 1U);
    EXPECT_EQ(six.addresses[0].text(), "[::1]:80");
    EXPECT_TRUE(six.addresses[0].is_loopback());
    EXPECT_TRUE(resolve({"no-such-host.invalid", 80}).addresses.empty());
    EXPECT_FALSE(resolve({"no-such-host.invalid", 80}).error.empty());
    EXPECT_TRUE(is_numeric("::1"));
    EXPECT_FALSE(is_numeric("localhost"));
}

}  // namespace
}  // namespace trireme::store
