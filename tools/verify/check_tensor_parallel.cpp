#include "verify/checks.h"

namespace trireme::verify {

void check_tensor_parallel(Context& context) {
    Sizes sizes = context.sizes;
    sizes.layers = 1;
    const std::int64_t tokens = sizes.batch * sizes.sequence;
    std::vector<Mlp> dense = make_layers(sizes, 1);
    std::vector<ParallelMlp> parallel{ParallelMlp(dense[0], context.tp)};
    const Batch batch = make_batch(sizes, 0);
    {
        const torch::NoGradGuard no_grad;
        Comparison forward;
        forward.expect("output", run_through(parallel, batch.inputs),
                       run_through(dense, batch.inputs));
        context.report.add("TP forward", forward);
    }

    const at::Tensor dense_inputs = batch.inputs.clone().requires_grad_();
    const at::Tensor dense_loss =
        squared_error(run_through(dense, dense_inputs), batch.targets, tokens);
    dense_loss.backward();
    const at::Tensor inputs = batch.inputs.clone().requires_grad_();
    const at::Tensor loss = squared_error(run_through(parallel, inputs), batch.targets, tokens);
    loss.backward();

    Comparison losses;
    losses.expect("loss", loss, dense_loss);
    context.report.add("TP loss", losses);
    Comparison gradients;
    context.expect_gradients(gradients, parallel, dense);
    gradients.expect("gradient of the input", inputs.grad(), dense_inputs.grad());
    context.report.add("TP gradients", gradients);
}

}  // namespace trireme::verify
