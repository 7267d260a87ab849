// Data parallel training: each rank holds the whole model and a part of each batch, and the
// gradients are averaged, so that all ranks take the same step.
//
//     trireme run -n 4 -- train_text --steps 200
//     trireme run -n 4 -- train_text --steps 50 --check

#include <trireme/torch.h>
#include <trireme/trireme.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "model.h"
#include "text.h"

namespace {

struct Settings {
    long steps = 100;
    long batch = 8;
    long context = 32;
    double lr = 0.003;
    std::string file = "/usr/share/common-licenses/GPL-3";
    std::uint64_t seed = 1;
    bool check = false;
};

struct Trainer {
    explicit Trainer(const Settings& settings)
        : model(settings.context, /*width=*/32),
          optimizer(model->parameters(), torch::optim::AdamWOptions(settings.lr)) {}

    /// Takes a step and returns its loss. `average` gets the gradients and the loss, one behind the
    /// other in one tensor, before they are used.
    template <class Average>
    double step(const torch::Tensor& windows, Average average) {
        optimizer.zero_grad();
        const torch::Tensor loss = model->loss(windows);
        loss.backward();
        std::vector<torch::Tensor> parts;
        for (const auto& p : model->parameters()) parts.push_back(p.grad().flatten());
        parts.push_back(loss.detach().view({1}));
        torch::Tensor flat = torch::cat(parts);
        average(flat);

        long offset = 0;
        for (const auto& p : model->parameters()) {
            p.grad().copy_(flat.narrow(0, offset, p.numel()).view_as(p));
            offset += p.numel();
        }
        optimizer.step();
        return flat[offset].item<double>();
    }

    NextByte model;
    torch::optim::AdamW optimizer;
};

Settings parse(int argc, char** argv) {
    Settings settings;
    CLI::App app("Learns to predict the next byte of a text, on all ranks together");
    app.option_defaults()->always_capture_default();
    app.add_option("--steps", settings.steps)->check(CLI::Range(1, 1 << 30));
    app.add_option("--batch", settings.batch, "Windows per rank")->check(CLI::Range(1, 1 << 30));
    app.add_option("--context", settings.context, "Bytes per window")
        ->check(CLI::Range(1, 1 << 30));
    app.add_option("--lr", settings.lr, "Learning rate");
    app.add_option("--file", settings.file, "Any file")->check(CLI::ExistingFile);
    app.add_option("--seed", settings.seed);
    app.add_flag("--check", settings.check, "Compare each loss with training on one process");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    return settings;
}

int train(const Settings& settings) {
    torch::set_num_threads(1);  // the ranks are what runs in parallel
    torch::manual_seed(settings.seed);
    // Ranks add up gradients in another order than one process does. In float32 that difference in
    // the last bit grows with each step (AdamW divides even tiny gradients by their size) and soon
    // hides what --check looks for; in float64 it stays far below.
    if (settings.check) torch::set_default_dtype(torch::scalarTypeToTypeMeta(torch::kDouble));
    const auto world = trireme::World::from_env();
    const trireme::Group all = world.group();
    const Text text(settings.file);

    // What `rank` trains on in `step`.
    const auto windows = [&](long step, int rank) {
        const auto number = static_cast<std::uint64_t>(step * world.size() + rank);
        return text.windows(settings.batch, settings.context + 1, (settings.seed << 32) + number);
    };
    Trainer trainer(settings);
    for (const auto& p : trainer.model->parameters()) all.broadcast(p.detach(), trireme::Root{0});

    // For --check: rank 0 also trains a copy, by itself, on the batches of all ranks.
    const bool leads = world.rank() == 0;
    Trainer alone(settings);
    for (std::size_t i = 0; i < alone.model->parameters().size(); ++i)
        alone.model->parameters()[i].detach().copy_(trainer.model->parameters()[i]);
    double difference = 0;  // the largest, relative

    const bool on_terminal = isatty(STDOUT_FILENO) != 0;
    const auto start = std::chrono::steady_clock::now();
    double first_loss = 0;
    double loss = 0;
    for (long step = 0; step < settings.steps; ++step) {
        loss = trainer.step(windows(step, world.rank()),
                            [&](torch::Tensor& flat) { all.all_reduce(flat, trireme::avg); });
        if (step == 0) first_loss = loss;
        if (leads && settings.check) {
            std::vector<torch::Tensor> joined;
            for (int rank = 0; rank < world.size(); ++rank) joined.push_back(windows(step, rank));
            const double expected = alone.step(torch::cat(joined), [](torch::Tensor&) {});
            const double now = std::abs(loss - expected) / std::abs(expected);
            difference = std::isnan(now) ? INFINITY : std::max(difference, now);
        }
        const bool last = step + 1 == settings.steps;
        if (leads && (on_terminal || last || (step + 1) % 10 == 0)) {
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
            const long bytes = (step + 1) * settings.batch * settings.context * world.size();
            std::printf("step %ld/%ld  loss %.4f  %.0f bytes/s%s", step + 1, settings.steps, loss,
                        static_cast<double>(bytes) / time.count(),
                        on_terminal && !last ? "   \r" : "\n");
            std::fflush(stdout);
        }
    }
    if (!leads) return 0;
    std::printf("%d ranks: loss %.4f -> %.4f", world.size(), first_loss, loss);
    constexpr double tolerance = 1e-5;
    const bool equal = difference <= tolerance;
    if (settings.check)
        std::printf(equal ? ", the same on one process within %.1e"
                          : ", DIFFERENT on one process, by up to %.1e",
                    difference);
    std::printf("\n");
    return equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return train(parse(argc, argv));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "train_text: %s\n", error.what());
        return 1;
    }
}
