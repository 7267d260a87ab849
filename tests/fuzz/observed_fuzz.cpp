// What others tell of themselves: a rank on another host of its board, a dumped report, a part of a
// trace. The first byte chooses which.

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/unique_fd.h"
#include "fuzz/target.h"
#include "observe/board_view.h"
#include "observe/excerpt.h"
#include "observe/rank_report.h"
#include "observe/recorder.h"
#include "observe/trace.h"
#include "observe/trace_merge.h"
#include "trireme/error.h"

namespace trireme::fuzz {
namespace {

void read_board(std::string_view bytes) {
    const auto now = Recorder::Clock::now();
    auto excerpt = read_excerpt(std::string(bytes), 1, now);
    if (!excerpt) return;
    const BoardView board = BoardView::of_excerpt(std::move(excerpt->memory));
    (void)describe_doing(make_report(board, 0, 100));
}

void read_report(std::string_view bytes) {
    try {
        (void)describe_doing(parse_report(std::string(bytes)));
    } catch (const Error&) {
    }
}

void read_part(std::string_view bytes) {
    const UniqueFd file(::memfd_create("part", MFD_CLOEXEC));
    (void)!::write(file.get(), bytes.data(), bytes.size());
    try {
        std::ostringstream out;
        write_chrome_trace(read_trace({"/proc/self/fd/" + std::to_string(file.get())}), out);
    } catch (const Error&) {
    }
}

}  // namespace

std::vector<std::string> seeds() {
    Recorder recorder(1, 2);
    const auto now = Recorder::Clock::now();
    const auto group = recorder.enter_group(9, "tp", 1, 2);
    const OpRecord record{.kind = OpKind::all_reduce,
                          .dtype = Dtype::float32,
                          .count = 8,
                          .sequence = 1,
                          .algorithm = "ring",
                          .file = "a/train.cpp",
                          .line = 7};
    recorder.end(recorder.begin(record, 9, group, true, now), true, now);
    const board::Wait wait{.number = recorder.begin(record, 9, group, true, now), .rank = 0};
    recorder.show_waits(std::span(&wait, 1), now);
    recorder.show_errand("making group \"dp\"", now);
    nlohmann::ordered_json report;
    to_json(report, make_report(BoardView::open(recorder.address()).value(), ::getpid(), 10));
    return {'\0' + make_excerpt(recorder.shown(), 1, now), '\1' + report.dump(),
            std::string("\2{\"trireme\":1,\"rank\":0,\"size\":2,\"host\":\"a\",\"pid\":11}\n") +
                R"({"group":1,"name":"world","ranks":[0,1]})" + "\n" + R"({"offset":[0,0,0]})" +
                "\n" + R"({"n":1,"b":5000,"k":"all_reduce","g":1,"q":1})" + "\n" +
                R"({"n":1,"b":5000,"e":9000,"ok":true,"k":"all_reduce","g":1,"q":1,"c":4,)" +
                R"("d":"float32","bytes":16,"r":"sum","a":"ring","s":"train.cpp:7"})" + "\n" +
                R"({"n":2,"b":6000,"e":7000,"ok":true,"k":"send","g":1,"q":1,"p":1,"t":3})" + "\n" +
                R"({"n":3,"b":9100,"k":"barrier","g":1,"q":2})" + "\n" + R"({"lost":3})" + "\n" +
                R"({"closed":9500})" + "\n"};
}

}  // namespace trireme::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace trireme::fuzz;
    Input in(data, size);
    switch (in.byte() % 3) {
        case 0: read_board(in.rest()); break;
        case 1: read_report(in.rest()); break;
        default: read_part(in.rest()); break;
    }
    return 0;
}
