// What only the file store can meet: other processes, other files, a path that goes bad.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "store/support.h"

namespace trireme::test {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

TEST(FileStore, SaysAtOnceThatThePathIsUnusable) {
    const TempDir dir;
    expect_error_at_once(ErrorCode::store, {dir / "none/store", "errno 2"},
                         [&] { (void)file_store(dir / "none/store"); });
    expect_error_at_once(ErrorCode::store, {dir / "", "errno 21"},
                         [&] { (void)file_store(dir / ""); });
    expect_error_at_once(ErrorCode::store, {"/dev/null"}, [] { (void)file_store("/dev/null"); });
    std::filesystem::create_directory(dir / "closed");
    std::filesystem::permissions(
        dir / "closed", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    if (::geteuid() != 0) {
        expect_error_at_once(ErrorCode::store, {dir / "closed/store", "errno 13"},
                             [&] { (void)file_store(dir / "closed/store"); });
    }
}

TEST(FileStore, NoticesThatTheFileIsDeleted) {
    const TempDir dir;
    const auto store = file_store(dir / "store");
    store->set("key", "value");
    std::thread deleter([&] {
        std::this_thread::sleep_for(20ms);
        std::filesystem::remove(dir / "store");
    });
    expect_error_at_once(ErrorCode::store, {dir / "store", "deleted", "errno 2"},
                         [&] { (void)store->get("absent", plenty); });
    deleter.join();
    expect_error_at_once(ErrorCode::store, {dir / "store"}, [&] { store->set("key", ""); });
    const auto other = file_store(dir / "store");
    expect_error_at_once(ErrorCode::store, {dir / "store", "replaced"},
                         [&] { store->set("key", ""); });
    other->set("key", "");
    expect_error_at_once(ErrorCode::store, {dir / "store", "replaced"},
                         [&] { store->set("key", ""); });
}

TEST(FileStore, LeavesAFileOfSomebodyElseAlone) {
    const TempDir dir;
    write_file(dir / "weights", "not a store");
    expect_error_at_once(ErrorCode::store, {dir / "weights", "no store"},
                         [&] { (void)file_store(dir / "weights"); });
    EXPECT_EQ(read_file(dir / "weights"), "not a store");
}

TEST(FileStore, SurvivesAWriterThatDiedWhileWriting) {
    const TempDir dir;
    const auto first = file_store(dir / "store");
    first->set("a", "1");
    const std::string whole = read_file(dir / "store");
    first->set("b", std::string(100, 'b'));
    const std::string longer = read_file(dir / "store");
    for (std::size_t size = 0; size < longer.size(); size += 7) {
        write_file(dir / "cut", longer.substr(0, size));
        const auto store = file_store(dir / "cut");
        EXPECT_EQ(store->num_keys(), size < whole.size() ? 0 : 1) << size;
        store->set("c", "3");
        EXPECT_EQ(file_store(dir / "cut")->get("c", 0ms), "3");
    }
}

TEST(FileStore, RefusesADamagedFile) {
    const TempDir dir;
    file_store(dir / "store")->set("a", "1");
    write_file(dir / "store", read_file(dir / "store") + std::string(8, '\x7f'));
    expect_error_at_once(ErrorCode::store, {dir / "store", "damaged at byte"},
                         [&] { (void)file_store(dir / "store"); });
}

TEST(FileStore, StaysSmall) {
    const TempDir dir;
    const auto writer = file_store(dir / "store");
    const auto reader = file_store(dir / "store");
    writer->set("kept", "value");
    writer->set("dropped", "value");
    writer->delete_key("dropped");
    const std::string large(std::size_t{1} << 20, 'x');
    for (int i = 0; i < 20; ++i) {
        writer->set("beat", large);
        if (i % 3 == 0) {
            EXPECT_EQ(reader->get("beat", plenty), large);
            reader->add("reads", 1);
        }
    }
    EXPECT_LT(std::filesystem::file_size(dir / "store"), std::size_t{8} << 20);
    EXPECT_EQ(reader->get("kept", plenty), "value");
    EXPECT_EQ(writer->add("reads", 0), 7);
    EXPECT_EQ(reader->num_keys(), 3);
    EXPECT_EQ(file_store(dir / "store")->num_keys(), 3);
    EXPECT_FALSE(std::filesystem::exists(dir / "store.new"));
}

TEST(FileStore, SharesAmongProcesses) {
    const TempDir dir;
    const auto store = file_store(dir / "store");
    store->add("count", 1);
    constexpr int processes = 4;
    constexpr int rounds = 25;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
        children.push_back(::fork());
        if (children.back() == 0) {
            int code = 1;
            try {
                // Half of them use the parent's store, which they must not share a lock with.
                const auto mine = i % 2 == 0 ? store : file_store(dir / "store");
                for (int round = 0; round < rounds; ++round) {
                    mine->add("count", 1);
                }
                code = 0;
            } catch (const std::exception&) {
            }
            ::_exit(code);
        }
    }
    for (int round = 0; round < rounds; ++round) {
        store->add("count", 1);
    }
    for (const pid_t child : children) {
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_EQ(store->add("count", 0), 1 + (processes + 1) * rounds);
}

TEST(FileStore, AHeldLockIsATimeoutNotAHang) {
    const TempDir dir;
    const auto store = file_store(dir / "store");
    store->set("key", "value");
    const int fd = ::open((dir / "store").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(fd, LOCK_EX), 0);
    expect_error_at_once(ErrorCode::timeout, {dir / "store", "lock"},
                         [&] { (void)store->get("key", 100ms); });
    ::close(fd);
    EXPECT_EQ(store->get("key", plenty), "value");
}

}  // namespace
}  // namespace trireme::test
