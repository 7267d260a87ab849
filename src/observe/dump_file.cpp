#include "observe/dump_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/fork.h"
#include "observe/rank_report.h"
#include "observe/warn.h"

namespace trireme {

namespace {

// The job's name comes from the environment.
std::string as_file_name(std::string text) {
    for (char& letter : text)
        if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-') letter = '_';
    return text;
}

std::string file_name_of(const RankReport& report) {
    return fmt::format("trireme-dump-{}-rank{}-{}.json",
                       report.job.empty() ? "nojob" : as_file_name(report.job), report.rank,
                       report.world.empty() ? "joining" : report.world);
}

}  // namespace

DumpFile::DumpFile(const BoardAddress& board, int rank, const shm::Token& token,
                   std::string directory)
    : board_(board),
      rank_(rank),
      token_(token),
      directory_(std::move(directory)),
      born_(fork_generation()),
      control_(Control::instance()) {
    std::error_code error;
    if (!directory_.empty()) std::filesystem::create_directories(directory_, error);
    if (error)
        throw Error(ErrorCode::system,
                    fmt::format("TRIREME_DUMP=\"{}\": cannot make the folder: {}", directory_,
                                error.message()));
    control_->add(*this);
}

DumpFile::~DumpFile() {
    // In a forked child the thread is not there, and its locks may be held for ever.
    if (born_ == fork_generation()) control_->remove(*this);
}

void DumpFile::note_failure(const Error& error) noexcept {
    switch (error.code()) {
        case ErrorCode::timeout:
        case ErrorCode::mismatch:
        case ErrorCode::peer_lost:
        case ErrorCode::deadlock: break;
        default: return;
    }
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return;
    try {
        failure_ = error.what();
    } catch (const std::exception&) {
        return;
    }
    if (!directory_.empty()) write("a group has failed");
}

void DumpFile::dump_wanted() noexcept {
    const std::lock_guard lock(mutex_);
    write("on a signal");
}

void DumpFile::write(const char* occasion) noexcept {
    try {
        const auto view = BoardView::open(board_, rank_, token_);
        if (!view) return warn(fmt::format("rank {} cannot read its own board in /proc", rank_));
        RankReport report = make_report(*view, ::getpid(), board::slots);
        report.error = failure_;
        const std::filesystem::path folder = directory_.empty() ? "." : directory_;
        const std::string path = folder / file_name_of(report);
        // Whole or not at all: somebody may be reading.
        const std::string part = path + ".part";
        std::ofstream file(part);
        file << nlohmann::ordered_json(report).dump(1, ' ', false,
                                                    nlohmann::json::error_handler_t::replace)
             << '\n';
        file.close();
        if (!file || std::rename(part.c_str(), path.c_str()) != 0)
            return warn(
                fmt::format("rank {} cannot write {}: {}", rank_, path, std::strerror(errno)));
        warn(fmt::format("rank {} wrote {} ({})", rank_, path, occasion));
    } catch (const std::exception& error) {
        warn(fmt::format("rank {} cannot write its dump: {}", rank_, error.what()));
    }
}

}  // namespace trireme
