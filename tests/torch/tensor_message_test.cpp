// send_tensor and recv_tensor: shape and dtype travel too, and nothing is believed unchecked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>
#include <limits>

#include "on_ranks.h"
#include "trireme/error.h"
#include "trireme/torch.h"

namespace trireme {
namespace {

using testing::HasSubstr;

/// What rank 1 receives when rank 0 sends `tensor`.
at::Tensor deliver(const at::Tensor& tensor) {
    at::Tensor received;
    on_ranks(2, [&](const Group& group) {
        if (group.rank() == 0) {
            group.send_tensor(tensor, Peer{1}, Tag{7});
        } else {
            received = group.recv_tensor(Peer{0}, Tag{7});
        }
    });
    return received;
}

void expect_delivered(const at::Tensor& tensor) {
    const at::Tensor received = deliver(tensor);
    EXPECT_EQ(received.scalar_type(), tensor.scalar_type());
    EXPECT_EQ(received.sizes(), tensor.sizes());
    EXPECT_TRUE(at::equal(received, tensor)) << tensor.scalar_type() << tensor.sizes();
    EXPECT_FALSE(received.requires_grad());
}

TEST(TensorMessage, EveryDtype) {
    const at::Tensor numbers = at::arange(6).reshape({2, 3});
    for (const auto type : {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kLong, at::kInt,
                            at::kShort, at::kChar, at::kByte}) {
        expect_delivered(numbers.to(type));
    }
    expect_delivered(numbers.remainder(2).to(at::kBool));
}

TEST(TensorMessage, EveryShape) {
    expect_delivered(at::scalar_tensor(3.5));
    expect_delivered(at::empty({0}));
    expect_delivered(at::empty({1, 0, 2}));
    expect_delivered(at::arange(24).reshape({2, 1, 3, 1, 2, 1, 1, 2}));
    expect_delivered(at::arange(6).reshape({2, 3}).t());
    expect_delivered(at::arange(3).unsqueeze(1).expand({3, 2}));
    expect_delivered(at::ones({3}).requires_grad_());
    expect_delivered(at::arange(300'000));
}

TEST(TensorMessage, WhatCannotTravelIsRefusedBeforeItsHeaderIsSent) {
    on_ranks(2, [&](const Group& group) {
        if (group.rank() == 0) {
            const at::Tensor nine = at::zeros({1, 1, 1, 1, 1, 1, 1, 1, 1});
            EXPECT_THROW(group.send_tensor(nine, Peer{1}), Error);
            EXPECT_THROW(group.send_tensor(at::Tensor(), Peer{1}), Error);
            EXPECT_THROW(group.send_tensor(at::eye(2).to_sparse(), Peer{1}), Error);
            group.send_tensor(at::ones({2}), Peer{1});
        } else {
            EXPECT_EQ(group.recv_tensor(Peer{0}).sizes(), at::IntArrayRef{2});
        }
    });
}

/// The header as it travels: magic, version, dtype, number of dimensions, eight sizes.
struct RawHeader {
    std::uint32_t magic = 0x736e6574;
    std::uint16_t version = 1;
    std::uint8_t dtype = 1;
    std::uint8_t dimensions = 1;
    std::array<std::int64_t, 8> sizes{};
};

std::string error_for(const RawHeader& header) {
    std::string text;
    on_ranks(2, [&](const Group& group) {
        if (group.rank() == 0) {
            group.send(std::span(reinterpret_cast<const std::byte*>(&header), sizeof(header)),
                       Peer{1});
        } else {
            try {
                (void)group.recv_tensor(Peer{0});
            } catch (const Error& error) {
                text = error.what();
                EXPECT_EQ(error.code(), ErrorCode::mismatch);
                EXPECT_THAT(error.ranks(), testing::ElementsAre(0));
            }
        }
    });
    return text;
}

TEST(TensorMessage, BadHeadersAreRefusedBeforeAnythingIsAllocated) {
    constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    EXPECT_THAT(error_for({.magic = 5}), HasSubstr("does not come from send_tensor"));
    EXPECT_THAT(error_for({.version = 9}), HasSubstr("version 9"));
    EXPECT_THAT(error_for({.dtype = 200}), HasSubstr("unknown dtype 200"));
    EXPECT_THAT(error_for({.dimensions = 9}), HasSubstr("9 dimensions"));
    EXPECT_THAT(error_for({.sizes = {-1}}), HasSubstr("size -1"));
    EXPECT_THAT(error_for({.dimensions = 2, .sizes = {-1, 0}}), HasSubstr("size -1"));
    EXPECT_THAT(error_for({.sizes = {huge}}), HasSubstr("address space"));
    EXPECT_THAT(error_for({.dimensions = 3, .sizes = {huge, huge, huge}}),
                HasSubstr("address space"));
    // Its strides would not fit, though it has no elements.
    EXPECT_THAT(error_for({.dimensions = 3, .sizes = {huge, huge, 0}}), HasSubstr("address space"));
    EXPECT_THAT(error_for({.sizes = {std::int64_t{1} << 50}}), HasSubstr("this host has only"));
}

}  // namespace
}  // namespace trireme
