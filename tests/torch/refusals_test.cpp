// What a tensor may not be, and what autograd learns of a write. All of it is decided before
// anything is sent, so one rank suffices.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>

#include "support/ranks.h"
#include "trireme/error.h"
#include "trireme/group.h"
#include "trireme/torch.h"
#include "trireme/world.h"

namespace trireme {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// The error that `tensor` as an argument raises; "" if none.
struct Refusal {
    explicit Refusal(const at::Tensor& tensor, Access access = Access::update) {
        try {
            (void)make_operand(tensor, access, Hold::call);
        } catch (const Error& error) {
            text = error.what();
            code = error.code();
        }
    }
    std::string text;
    ErrorCode code{};
};

TEST(Refusal, ExpandedTarget) {
    const at::Tensor expanded = at::zeros({3, 1}).expand({3, 4});
    const Refusal refusal(expanded, Access::write);
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
    EXPECT_THAT(refusal.text, AllOf(HasSubstr("[3, 4]"), HasSubstr("[1, 0]"), HasSubstr("share")));
    EXPECT_EQ(Refusal(expanded, Access::read).text, "");
}

TEST(Refusal, OverlappingWindows) {
    const at::Tensor windows = at::zeros({5}).unfold(0, 2, 1);
    EXPECT_THAT(Refusal(windows).text, AllOf(HasSubstr("[4, 2]"), HasSubstr("[1, 1]")));
    EXPECT_EQ(Refusal(at::zeros({6}).unfold(0, 2, 2)).text, "");
}

TEST(Refusal, Undefined) {
    const Refusal refusal{at::Tensor()};
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
    EXPECT_THAT(refusal.text, HasSubstr("undefined"));
}

TEST(Refusal, OtherDevices) {
    const Refusal meta(at::empty({2}, at::kMeta));
    EXPECT_EQ(meta.code, ErrorCode::invalid_argument);
    EXPECT_THAT(meta.text, AllOf(HasSubstr("is on meta"), HasSubstr("[2]")));

    // A tensor that says it lies on a GPU, without one: only its description is looked at.
    const at::Tensor cuda(c10::make_intrusive<at::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), 0,
                     c10::DataPtr(nullptr, at::Device(at::kCUDA, 0))),
        c10::DispatchKeySet(c10::DispatchKey::CUDA), caffe2::TypeMeta::Make<float>()));
    const Refusal refusal(cuda, Access::read);
    EXPECT_EQ(refusal.code, ErrorCode::unsupported);
    EXPECT_THAT(refusal.text, AllOf(HasSubstr("is on cuda:0"), HasSubstr("host memory only")));
}

TEST(Refusal, Layouts) {
    EXPECT_THAT(Refusal(at::eye(3).to_sparse()).text, HasSubstr("Sparse"));
    EXPECT_EQ(Refusal(at::eye(3).to_sparse()).code, ErrorCode::unsupported);
    EXPECT_THAT(Refusal(at::eye(3).to_mkldnn()).text, HasSubstr("Mkldnn"));
}

TEST(Refusal, Dtypes) {
    const Refusal quantised(at::quantize_per_tensor(at::ones({2}), 0.1, 0, at::kQInt8));
    EXPECT_EQ(quantised.code, ErrorCode::unsupported);
    EXPECT_THAT(quantised.text, HasSubstr("QInt8"));
    EXPECT_THAT(Refusal(at::zeros({2}, at::kFloat8_e4m3fnuz)).text, HasSubstr("Float8_e4m3fnuz"));
}

TEST(Refusal, FreedStorage) {
    const at::Tensor freed = at::ones({4});
    freed.storage().unsafeGetStorageImpl()->set_nbytes(0);
    const Refusal refusal(freed, Access::read);
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
    EXPECT_THAT(refusal.text, HasSubstr("16 bytes"));
}

TEST(Refusal, ZerosWithoutMemory) {
    const at::Tensor zeros = at::_efficientzerotensor({3});
    EXPECT_THAT(Refusal(zeros, Access::write).text, HasSubstr("zeros without memory"));
    EXPECT_EQ(Refusal(zeros, Access::read).text, "");
}

TEST(Refusal, TargetThatRequiresGrad) {
    const at::Tensor leaf = at::zeros({2}).requires_grad_();
    const Refusal refusal(leaf);
    EXPECT_EQ(refusal.code, ErrorCode::invalid_argument);
    EXPECT_THAT(refusal.text, AllOf(HasSubstr("leaf"), HasSubstr("NoGradGuard")));
    EXPECT_THAT(Refusal(leaf * 2).text, HasSubstr("requires grad"));
    EXPECT_EQ(Refusal(leaf, Access::read).text, "");
    EXPECT_EQ(Refusal(leaf.detach()).text, "");
    const torch::NoGradGuard no_grad;
    EXPECT_EQ(Refusal(leaf).text, "");
}

TEST(Refusal, NamesTheCallInEachOfItsForms) {
    run_ranks(1, [](World& world) {
        const Group group = world.group().subgroup({0}, "pair");
        const at::Tensor none;
        const auto expect_named = [](const char* call, auto&& run) {
            try {
                run();
                ADD_FAILURE() << call << " was not refused";
            } catch (const Error& error) {
                EXPECT_THAT(error.what(),
                            AllOf(HasSubstr(std::string(call) + " on group \"pair\""),
                                  HasSubstr("refusals_test.cpp"), HasSubstr("undefined")));
            }
        };
        const at::Tensor some = at::zeros({2});
        expect_named("all_reduce", [&] { group.all_reduce(none); });
        expect_named("all_gather", [&] { group.all_gather(some, none); });
        expect_named("send", [&] { group.send(none, Peer{0}); });
        expect_named("recv", [&] { group.recv(none, Peer{0}); });
        expect_named("broadcast", [&] { group.broadcast_async(none, Root{0}).wait(); });
        expect_named("scatter", [&] { group.scatter_async(none, some, Root{0}).wait(); });
        expect_named("reduce", [&] { (void)group.prepare_reduce(none, Root{0}); });
        expect_named("send", [&] { (void)group.prepare_send(none, Peer{0}); });
    });
}

TEST(Version, WritesRaiseItAndReadsDoNot) {
    const at::Tensor tensor = at::zeros({4, 2});
    const auto version = tensor._version();
    (void)make_operand(tensor, Access::read, Hold::call);
    EXPECT_EQ(tensor._version(), version);
    (void)make_operand(tensor, Access::update, Hold::call);
    EXPECT_EQ(tensor._version(), version + 1);
    (void)make_operand(tensor.select(1, 0), Access::write, Hold::work);
    EXPECT_EQ(tensor._version(), version + 2);
}

TEST(Version, BackwardNoticesThatASavedTensorWasWritten) {
    const at::Tensor x = at::ones({3}).requires_grad_();
    const at::Tensor factor = at::ones({3});
    const at::Tensor y = (x * factor).sum();
    (void)make_operand(factor, Access::write, Hold::call);
    EXPECT_THROW(y.backward(), c10::Error);
}

TEST(Version, InferenceTensorsHaveNone) {
    at::Tensor tensor;
    {
        const c10::InferenceMode inference;
        tensor = at::zeros({2, 2});
        EXPECT_EQ(Refusal(tensor).text, "");
    }
    const Operand column = make_operand(tensor.select(1, 0), Access::update, Hold::call);
    torch::from_blob(column.buffer.data, {2}).fill_(3);
    column.finish();
    EXPECT_EQ(tensor.sum().item<float>(), 6);
}

}  // namespace
}  // namespace trireme
