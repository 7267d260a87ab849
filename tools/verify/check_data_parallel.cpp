#include "trireme/torch.h"
#include "verify/average.h"
#include "verify/checks.h"

namespace trireme::verify {

void check_data_parallel(Context& context) {
    Sizes sizes = context.sizes;
    sizes.layers = 1;
    const std::int64_t tokens = sizes.batch * sizes.sequence;
    std::vector<Mlp> dense = make_layers(sizes, 3);
    const Batch all = make_joined_batch(sizes, context.dp.size());
    const at::Tensor dense_loss =
        squared_error(run_through(dense, all.inputs), all.targets, tokens * context.dp.size());
    dense_loss.backward();

    std::vector<Mlp> replica = make_layers(sizes, 3);
    const Batch batch = make_batch(sizes, context.dp.rank());
    const at::Tensor loss =
        squared_error(run_through(replica, batch.inputs), batch.targets, tokens);
    loss.backward();
    average_gradients(replica[0]->parameters(), context.dp);
    const at::Tensor mean_loss = loss.detach();
    context.dp.all_reduce(mean_loss, avg);

    Comparison losses;
    losses.expect("mean loss", mean_loss, dense_loss);
    context.report.add("DP loss", losses);
    Comparison gradients;
    context.expect_gradients(gradients, replica, dense);
    context.report.add("DP gradients", gradients);
}

}  // namespace trireme::verify
