#include "trireme/torch.h"
#include "verify/average.h"
#include "verify/checks.h"
#include "verify/pipeline.h"

namespace trireme::verify {

void check_combined(Context& context) {
    const Sizes& sizes = context.sizes;
    const std::int64_t tokens = sizes.batch * sizes.sequence;
    std::vector<Mlp> dense = make_layers(sizes, 4);
    std::vector<ParallelMlp> layers;
    for (const Mlp& layer : context.stage_of(dense)) layers.emplace_back(layer, context.tp);
    const PipelineStage stage([&](const at::Tensor& x) { return run_through(layers, x); },
                              context.pp);
    const Batch batch = make_batch(sizes, context.dp.rank());
    const auto inputs = batch.inputs.chunk(sizes.micro_batches);
    const auto targets = batch.targets.chunk(sizes.micro_batches);
    {
        const torch::NoGradGuard no_grad;
        Comparison forward;
        forward.expect("output of the stage", at::cat(stage.forward(inputs)),
                       output_of_stage(dense, context.pp.rank(), context.pp.size(), batch.inputs));
        context.report.add("3D forward", forward);
    }

    const Batch all = make_joined_batch(sizes, context.dp.size());
    const at::Tensor dense_loss =
        squared_error(run_through(dense, all.inputs), all.targets, tokens * context.dp.size());
    dense_loss.backward();
    const at::Tensor loss =
        stage.forward_backward(inputs, [&](const at::Tensor& outputs, std::size_t m) {
            return squared_error(outputs, targets[m], tokens);
        });
    std::vector<at::Tensor> parameters;
    for (const ParallelMlp& layer : layers) {
        for (const at::Tensor& parameter : layer->parameters()) parameters.push_back(parameter);
    }
    average_gradients(parameters, context.dp);
    context.dp.all_reduce(loss, avg);

    Comparison losses;
    losses.expect("mean loss", loss, dense_loss);
    context.report.add("3D loss", losses);
    Comparison gradients;
    context.expect_gradients(gradients, layers, context.stage_of(dense));
    context.report.add("3D gradients", gradients);
}

}  // namespace trireme::verify
