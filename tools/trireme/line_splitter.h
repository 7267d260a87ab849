#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace trireme::tool {

/// A line, or a piece of one, without its end.
struct Piece {
    std::string_view text;
    bool continues = false;  ///< the start of this line was delivered before
    bool progress = false;   ///< ended by a carriage return: the next piece would overwrite it
};

/// Cuts a stream of bytes that arrive in arbitrary chunks into lines.
///
/// Memory is bounded: a line longer than `limit` is delivered in pieces of about `limit` bytes
/// (never inside a UTF-8 character), all but the first marked as continuing. "\r\n" ends a line
/// as "\n" does; a "\r" elsewhere ends a progress line. The views are valid during the call of
/// the sink only.
class LineSplitter {
public:
    static constexpr std::size_t default_limit = std::size_t{64} * 1024;

    explicit LineSplitter(std::size_t limit = default_limit)
        : limit_(std::max<std::size_t>(limit, 8)) {}

    template <class Sink>
    void feed(std::string_view bytes, Sink&& sink) {
        while (!bytes.empty()) {
            if (after_return_) {
                settle_return(bytes, sink);
                continue;
            }
            const std::size_t end = bytes.find_first_of("\r\n");
            if (end == std::string_view::npos) {
                hold(bytes, sink);
                return;
            }
            if (bytes[end] == '\n' && pending_.empty() && end <= limit_) {
                deliver_line(bytes.substr(0, end), sink);  // the usual case, without a copy
            } else {
                hold(bytes.substr(0, end), sink);
                if (bytes[end] == '\n') {
                    deliver_line(pending_, sink);
                } else {
                    after_return_ = true;
                }
            }
            bytes.remove_prefix(end + 1);
        }
    }

    /// Delivers what has no line end yet.
    template <class Sink>
    void finish(Sink&& sink) {
        after_return_ = false;
        if (!pending_.empty()) {
            deliver_line(pending_, sink);
        }
        continues_ = false;
    }

private:
    // Whether a return belongs to "\r\n" shows only in the next byte, perhaps in the next chunk.
    template <class Sink>
    void settle_return(std::string_view& bytes, Sink& sink) {
        after_return_ = false;
        if (bytes.front() == '\n') {
            bytes.remove_prefix(1);
            deliver_line(pending_, sink);
            return;
        }
        if (!pending_.empty()) {
            sink(Piece{.text = pending_, .continues = continues_, .progress = true});
            pending_.clear();
        }
        continues_ = false;
    }

    template <class Sink>
    void deliver_line(std::string_view text, Sink& sink) {
        if (!text.empty() || !continues_) {  // the end of a line whose pieces are all out: nothing
            sink(Piece{.text = text, .continues = continues_});
        }
        pending_.clear();
        continues_ = false;
    }

    template <class Sink>
    void hold(std::string_view bytes, Sink& sink) {
        while (pending_.size() + bytes.size() > limit_) {
            const std::size_t taken = limit_ - pending_.size();
            pending_.append(bytes.substr(0, taken));
            bytes.remove_prefix(taken);
            const std::size_t cut = character_boundary(pending_);
            sink(Piece{.text = std::string_view(pending_).substr(0, cut), .continues = continues_});
            pending_.erase(0, cut);
            continues_ = true;
        }
        pending_.append(bytes);
    }

    // The largest size <= text.size() that does not cut a UTF-8 character; where the bytes are
    // not UTF-8, all of it.
    static std::size_t character_boundary(std::string_view text) noexcept {
        for (std::size_t back = 1; back <= 4 && back < text.size(); ++back) {
            const auto byte = static_cast<unsigned char>(text[text.size() - back]);
            if (byte < 0x80) {
                return text.size();
            }
            if (byte >= 0xC0) {
                const std::size_t length = byte >= 0xF0 ? 4U : byte >= 0xE0 ? 3U : 2U;
                return length > back ? text.size() - back : text.size();
            }
        }
        return text.size();
    }

    std::size_t limit_;
    std::string pending_;
    bool continues_ = false;
    bool after_return_ = false;
};

}  // namespace trireme::tool
