#include "verify/checks.h"
#include "verify/pipeline.h"

namespace trireme::verify {

void check_pipeline(Context& context) {
    const Sizes& sizes = context.sizes;
    const std::int64_t tokens = sizes.batch * sizes.sequence;
    std::vector<Mlp> dense = make_layers(sizes, 2);
    std::vector<Mlp> layers = context.stage_of(make_layers(sizes, 2));
    const PipelineStage stage([&](const at::Tensor& x) { return run_through(layers, x); },
                              context.pp);
    const Batch batch = make_batch(sizes, 0);
    const auto inputs = batch.inputs.chunk(sizes.micro_batches);
    const auto targets = batch.targets.chunk(sizes.micro_batches);
    {
        const torch::NoGradGuard no_grad;
        Comparison forward;
        forward.expect("output of the stage", at::cat(stage.forward(inputs)),
                       output_of_stage(dense, context.pp.rank(), context.pp.size(), batch.inputs));
        context.report.add("PP forward", forward);
    }

    const at::Tensor dense_loss =
        squared_error(run_through(dense, batch.inputs), batch.targets, tokens);
    dense_loss.backward();
    const at::Tensor loss =
        stage.forward_backward(inputs, [&](const at::Tensor& outputs, std::size_t m) {
            return squared_error(outputs, targets[m], tokens);
        });

    Comparison losses;
    losses.expect("loss", loss, dense_loss);
    context.report.add("PP loss", losses);
    Comparison gradients;
    context.expect_gradients(gradients, layers, context.stage_of(dense));
    context.report.add("PP gradients", gradients);
}

}  // namespace trireme::verify
