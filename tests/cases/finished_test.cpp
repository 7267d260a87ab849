// Tensors that a call returns are finished: whoever reads them sees the data, also when another
// rank comes half a second later.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <chrono>
#include <functional>
#include <thread>

#include "support/ranks.h"
#include "trireme/autograd.h"
#include "trireme/torch.h"

namespace trireme {
namespace {

// Casts, views and kernels that know nothing of pending operations.
void expect_finished(const at::Tensor& result, double value) {
    EXPECT_EQ(result.to(at::kDouble).view({-1})[0].item<double>(), value);
    EXPECT_EQ(result.view({-1}).slice(0, 1, 3).sum().item<double>(), 2 * value);
    EXPECT_EQ(result.data_ptr<float>()[3], static_cast<float>(value));
    EXPECT_EQ(at::relu(result).max().item<double>(), value);
}

void with_a_late_rank(const std::function<void(const Group&)>& body) {
    run_ranks(2, [&](World& world) {
        if (world.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
        body(world.group());
    });
}

TEST(Cases, C49_SumsAreFinished) {
    with_a_late_rank([](const Group& group) {
        expect_finished(reduce_from_parallel_region(at::full({2, 2}, 3.0F), group), 6);
    });
}

TEST(Cases, C49_GatheredTensorsAreFinished) {
    with_a_late_rank([](const Group& group) {
        at::Tensor out = at::zeros({2, 4});
        group.all_gather(at::full({4}, static_cast<float>(group.rank() + 1)), out);
        expect_finished(out[0], 1);
        expect_finished(out[1], 2);
    });
}

TEST(Cases, C49_TensorsThatCameAreFinished) {
    with_a_late_rank([](const Group& group) {
        if (group.rank() == 1) return group.send_tensor(at::full({2, 2}, 5.0F), Peer{0});
        expect_finished(group.recv_tensor(Peer{1}), 5);
    });
}

}  // namespace
}  // namespace trireme
