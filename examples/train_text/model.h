#pragma once

#include <torch/torch.h>

/// A transformer of one block that predicts each next byte of a text.
class NextByteImpl : public torch::nn::Module {
public:
    NextByteImpl(std::int64_t context, std::int64_t width)
        : bytes_(register_module("bytes", torch::nn::Embedding(256, width))),
          places_(register_module("places", torch::nn::Embedding(context, width))),
          block_(
              register_module("block", torch::nn::TransformerEncoderLayer(block_options(width)))),
          head_(register_module("head", torch::nn::Linear(width, 256))) {}

    /// The mean loss in nats per byte over `windows`, [count, context + 1].
    torch::Tensor loss(const torch::Tensor& windows) {
        const std::int64_t context = windows.size(1) - 1;
        const torch::Tensor seen = windows.narrow(1, 0, context).t();
        const torch::Tensor next = windows.narrow(1, 1, context).t();
        const torch::Tensor x = bytes_(seen) + places_(torch::arange(context).unsqueeze(1));
        // Each byte looks at itself and at those before it.
        const auto mask = torch::nn::TransformerImpl::generate_square_subsequent_mask(context);
        return torch::cross_entropy_loss(head_(block_(x, mask)).flatten(0, 1), next.flatten());
    }

private:
    static torch::nn::TransformerEncoderLayerOptions block_options(std::int64_t width) {
        constexpr std::int64_t heads = 4;
        return torch::nn::TransformerEncoderLayerOptions(width, heads)
            .dim_feedforward(4 * width)
            .dropout(0);
    }

    torch::nn::Embedding bytes_, places_;
    torch::nn::TransformerEncoderLayer block_;
    torch::nn::Linear head_;
};
TORCH_MODULE(NextByte);
