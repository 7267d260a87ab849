#include "observe/trace_part.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/op_info.h"
#include "trireme/dtype.h"
#include "trireme/error.h"

namespace trireme {

namespace {

using PartLine = nlohmann::ordered_json;

// A user's names need not be UTF-8.
void add_line(std::string& text, const PartLine& line) {
    text += line.dump(-1, ' ', false, PartLine::error_handler_t::replace);
    text += '\n';
}

}  // namespace

TracePart::TracePart(const std::filesystem::path& path, const TraceOrigin& origin,
                     std::uint64_t limit, const Collector& names)
    : names_(names),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)),
      left_(limit) {
    if (!file_)
        throw Error(ErrorCode::system, fmt::format("cannot make the trace's file {}: {}",
                                                   path.string(), std::strerror(errno)));
    add_line(text_, {{"trireme", 1},
                     {"rank", origin.rank},
                     {"size", origin.size},
                     {"host", origin.host},
                     {"pid", origin.pid}});
    flush(0);
}

void TracePart::group(std::uint32_t stream, const std::string& name, std::span<const int> ranks) {
    add_within_limit({{"group", stream},
                      {"name", name},
                      {"ranks", std::vector<int>(ranks.begin(), ranks.end())}});
}

// Returns whether there was room.
bool TracePart::add_within_limit(const nlohmann::ordered_json& line) {
    const std::size_t before = text_.size();
    add_line(text_, line);
    const std::uint64_t bytes = text_.size() - before;
    if (bytes <= left_) {
        left_ -= bytes;
        return true;
    }
    text_.resize(before);
    left_ = 0;
    return false;
}

void TracePart::offset(const ClockOffset& offset) {
    add_line(text_, {{"offset", {offset.at, offset.offset, offset.uncertainty}}});
}

void TracePart::begun(const board::Entry& entry) {
    if (entry.ended == 0 && add_within_limit(line_of(entry))) open_.insert(entry.number);
}

// What was written as begun gets its second line beyond the limit, too: these are few.
void TracePart::ended(const board::Entry& entry) {
    if (open_.erase(entry.number) != 0)
        add_line(text_, line_of(entry));
    else if (!add_within_limit(line_of(entry)))
        ++missed_;
}

void TracePart::lost(const board::Entry& entry) {
    if (open_.erase(entry.number) != 0) add_line(text_, {{"lost", entry.number}});
}

void TracePart::missed(std::uint64_t count) { missed_ += count; }

PartLine TracePart::line_of(const board::Entry& entry) const {
    // What is in the ring comes from this process: kind and dtype are sound.
    const OpInfo& row = info(static_cast<OpKind>(entry.kind));
    PartLine line{{"n", entry.number}, {"b", entry.begun}};
    if (entry.ended != 0) {
        line["e"] = std::abs(entry.ended);
        line["ok"] = entry.ended > 0;
    }
    line["k"] = row.name;
    line["g"] = entry.stream;
    line["q"] = entry.sequence;
    if (row.shape != Shape::none) {
        const auto dtype = static_cast<Dtype>(entry.dtype);
        line["c"] = entry.count;
        line["d"] = name(dtype);
        line["bytes"] = entry.count * size_of(dtype);
    }
    if (row.reduces) {
        const auto reduce = static_cast<ReduceOp::Kind>(entry.reduce);
        line["r"] =
            reduce == ReduceOp::Kind::user ? names_.name(entry.user) : std::string(name(reduce));
    }
    if (row.has_root || row.point_to_point) line["p"] = entry.peer;
    if (row.point_to_point) line["t"] = entry.tag;
    line["a"] = names_.name(entry.algorithm);
    line["s"] = fmt::format("{}:{}", names_.name(entry.file), entry.line);
    return line;
}

void TracePart::flush(std::int64_t now) {
    if (missed_ != 0) add_line(text_, {{"missed", std::exchange(missed_, 0)}, {"at", now}});
    for (std::size_t written = 0; written < text_.size();) {
        const ssize_t count = ::write(file_.get(), text_.data() + written, text_.size() - written);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {  // a full disk: the job goes on without its trace
            left_ = 0;
            break;
        }
        written += static_cast<std::size_t>(count);
    }
    text_.clear();
}

void TracePart::close(std::int64_t now) {
    flush(now);
    add_line(text_, {{"closed", now}});
    flush(now);
    file_.reset();
}

}  // namespace trireme
