#include "../../tools/trireme/line_splitter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace trireme::tool {
namespace {

// Pieces as text: "+" before one that continues, "~" after one that is progress.
class Pieces {
public:
    explicit Pieces(std::size_t limit = LineSplitter::default_limit) : splitter_(limit) {}

    Pieces& feed(std::string_view bytes) {
        splitter_.feed(bytes, [this](const Piece& piece) { add(piece); });
        return *this;
    }
    std::vector<std::string> finish() {
        splitter_.finish([this](const Piece& piece) { add(piece); });
        return std::exchange(all_, {});
    }

private:
    void add(const Piece& piece) {
        all_.push_back((piece.continues ? "+" : "") + std::string(piece.text) +
                       (piece.progress ? "~" : ""));
    }

    LineSplitter splitter_;
    std::vector<std::string> all_;
};

using Strings = std::vector<std::string>;

TEST(LineSplitter, CutsAtNewlinesWhateverTheChunks) {
    const std::string text = "one\n\ntwo three\r\nfour\rfive\nlast";
    const Strings expected{"one", "", "two three", "four~", "five", "last"};
    for (std::size_t chunk = 1; chunk <= text.size(); ++chunk) {
        Pieces pieces;
        for (std::size_t at = 0; at < text.size(); at += chunk) {
            pieces.feed(std::string_view(text).substr(at, chunk));
        }
        EXPECT_EQ(pieces.finish(), expected) << "chunks of " << chunk;
    }
}

TEST(LineSplitter, FinishDeliversNothingAfterAWholeLine) {
    EXPECT_EQ(Pieces().feed("a\n").finish(), Strings{"a"});
    EXPECT_EQ(Pieces().finish(), Strings{});
}

TEST(LineSplitter, ProgressBarsBecomeProgressPieces) {
    EXPECT_EQ(Pieces().feed("\r10%\r50%\r100%\ndone\n").finish(),
              (Strings{"10%~", "50%~", "100%", "done"}));
    EXPECT_EQ(Pieces().feed("10%\r100%\r").finish(), (Strings{"10%~", "100%"}));
}

TEST(LineSplitter, LongLinesComeInPieces) {
    EXPECT_EQ(Pieces(8).feed("12345678\n").finish(), Strings{"12345678"});
    EXPECT_EQ(Pieces(8).feed("123456789\nx\n").finish(), (Strings{"12345678", "+9", "x"}));
    EXPECT_EQ(Pieces(8).feed("1234567812345678123").finish(),
              (Strings{"12345678", "+12345678", "+123"}));
    EXPECT_EQ(Pieces(8).feed("1234").feed("5678").feed("9\n").finish(),
              (Strings{"12345678", "+9"}));
}

TEST(LineSplitter, NoByteIsLostInLongLines) {
    const std::string line(1'000'000, 'x');
    Strings pieces = Pieces().feed(line).feed("\nend\n").finish();
    ASSERT_EQ(pieces.back(), "end");
    pieces.pop_back();
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        EXPECT_LE(pieces[i].size(), LineSplitter::default_limit + 1);
        bytes += pieces[i].size() - (i > 0 ? 1 : 0);
    }
    EXPECT_EQ(bytes, line.size());
}

TEST(LineSplitter, DoesNotCutACharacter) {
    // The euro sign takes three bytes.
    EXPECT_EQ(Pieces(8).feed("1234567\u20ac9\n").finish(), (Strings{"1234567",
                                                                    "+\u20ac"
                                                                    "9"}));
    EXPECT_EQ(Pieces(8).feed("12345\u20ac9\n").finish(), (Strings{"12345\u20ac", "+9"}));
    EXPECT_EQ(Pieces(8).feed(std::string(9, '\x80') + "\n").finish(),
              (Strings{std::string(8, '\x80'), "+\x80"}));
}

TEST(LineSplitter, NulBytesAreBytes) {
    const std::string text("a\0b", 3);
    EXPECT_EQ(Pieces().feed(text + "\n").finish(), Strings{text});
}

}  // namespace
}  // namespace trireme::tool
