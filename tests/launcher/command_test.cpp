// The command itself: help, subcommands, wrong command lines, programs that cannot be executed.

#include <sys/stat.h>

#include <fstream>

#include "launcher.h"
#include "trireme/version.h"

namespace trireme::test {
namespace {

using testing::TempDir;

void write_file(const std::string& path, const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
}

TEST(Command, TellsItsVersion) {
    Launcher trireme({"--version"});
    EXPECT_EQ(trireme.wait(), 0);
    EXPECT_EQ(trireme.out(), "trireme " TRIREME_VERSION "\n");
}

TEST(Command, ListsAndStartsProgramsOfItsName) {
    const std::string folder = TempDir() + "trireme-command-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    write_file(folder + "/trireme-salute", "#!/bin/sh\necho \"salute $*\"\nexit 7\n", 0755);
    const Launcher::Setup setup{.environment = {"PATH=" + folder + ":/usr/bin:/bin"}};

    Launcher help({"--help"}, setup);
    EXPECT_EQ(help.wait(), 0);
    EXPECT_NE(help.out().find("  run "), std::string::npos);
    EXPECT_NE(help.out().find("  salute\n"), std::string::npos);

    Launcher salute({"salute", "--loud", "x"}, setup);
    EXPECT_EQ(salute.wait(), 7);
    EXPECT_EQ(salute.out(), "salute --loud x\n");
    std::filesystem::remove_all(folder);
}

TEST(Command, NamesAnUnknownCommand) {
    Launcher trireme({"rwo"});
    EXPECT_EQ(trireme.wait(), 2);
    EXPECT_NE(trireme.err().find("unknown command \"rwo\""), std::string::npos);
    EXPECT_NE(trireme.err().find("trireme-rwo"), std::string::npos);
}

TEST(Command, RunExplainsItself) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"run", "--help"}, {"help", "run"}}) {
        Launcher trireme(words);
        EXPECT_EQ(trireme.wait(), 0);
        for (const char* part : {"Usage: trireme run", "-n 8", "--grace", "--report-time",
                                 "--on-failure", "--log-dir", "MASTER_PORT"}) {
            EXPECT_NE(trireme.out().find(part), std::string::npos) << part;
        }
    }
}

TEST(Command, WrongCommandLinesAreErrorsWithCodeTwo) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"run", "true"}, "--ranks is required"},
        {{"run", "-n", "2"}, "PROGRAM is required"},
        {{"run", "-n", "2", "--"}, "PROGRAM is required"},
        {{"run", "-n", "0", "true"}, "from 1 to"},
        {{"run", "-n", "many", "true"}, "\"many\""},
        {{"run", "-n", "2", "--frobnicate", "true"}, "unknown option --frobnicate"},
        {{"run", "-n", "2", "--on-failure", "panic", "true"}, "stop or continue"},
        {{"run", "-n", "2", "--grace", "-1", "true"}, "--grace"},
    };
    for (const auto& [words, text] : cases) {
        Launcher trireme(words);
        EXPECT_EQ(trireme.wait(), 2) << text;
        EXPECT_NE(trireme.err().find(text), std::string::npos) << trireme.err();
        EXPECT_EQ(trireme.out(), "");
    }
}

TEST(Command, OptionsAfterTheProgramAreTheProgramsOwn) {
    for (const bool separated : {false, true}) {
        std::vector<std::string> words{"run", "--ranks=1"};
        if (separated) {
            words.emplace_back("--");
        }
        words.insert(words.end(), {"/bin/echo", "-n", "--grace", "--", "-x"});
        Launcher trireme(words);
        EXPECT_EQ(trireme.wait(), 0);
        EXPECT_EQ(trireme.out(), "[0] --grace -- -x\n");
    }
}

TEST(Command, NamesAProgramThatCannotBeExecuted) {
    const std::string folder = TempDir() + "trireme-exec-" + std::to_string(::getpid());
    std::filesystem::create_directory(folder);
    write_file(folder + "/plain.py", "print(1)\n", 0644);
    write_file(folder + "/garbage", "\x01\x02 no program\n", 0755);
    write_file(folder + "/lost", "#!/no/such/interpreter\n", 0755);
    struct Case {
        std::string program, text;
        int code;
    };
    for (const Case& c : std::vector<Case>{
             {"no-such-program", "No such file or directory", 127},
             {"/no/such/program", "No such file or directory", 127},
             {folder + "/plain.py", "Permission denied", 126},
             {folder, "Is a directory", 126},
             {folder + "/garbage", "Exec format error", 126},
             {folder + "/lost", "interpreter", 127},
         }) {
        Launcher trireme({"run", "-n", "4", "--", c.program});
        EXPECT_EQ(trireme.wait(), c.code) << c.program;
        EXPECT_EQ(trireme.out(), "");
        EXPECT_EQ(lines_of(trireme.err()).size(), 1U) << trireme.err();
        EXPECT_NE(trireme.err().find(c.program), std::string::npos) << trireme.err();
        EXPECT_NE(trireme.err().find(c.text), std::string::npos) << trireme.err();
        EXPECT_TRUE(trireme.leaves_nobody());
    }
    std::filesystem::remove_all(folder);
}

TEST(Command, FewDescriptorsAreRaisedOrNamed) {
    const std::string run = std::string("exec ") + TRIREME_PROGRAM;
    const Launcher::Setup shell{.environment = {}, .program = "/bin/sh"};
    Launcher raised({"-c", "ulimit -Sn 48; " + run + " run -n 16 sh -c 'ulimit -n'"}, shell);
    EXPECT_EQ(raised.wait(), 0) << raised.err();
    EXPECT_EQ(count(raised.out(), "] 48\n"), 16U) << raised.out();

    Launcher refused({"-c", "ulimit -n 48; " + run + " run -n 16 true"}, shell);
    EXPECT_EQ(refused.wait(), 1);
    EXPECT_NE(refused.err().find("16 ranks need 96 open files, but the limit is 48"),
              std::string::npos)
        << refused.err();
}

TEST(Command, PrintsTheSelectionTable) {
    Launcher table({"algorithms", "all_reduce"});
    EXPECT_EQ(table.wait(), 0) << table.err();
    EXPECT_NE(table.out().find("\nall_reduce      ring"), std::string::npos) << table.out();
    EXPECT_EQ(table.out().find("\nbroadcast"), std::string::npos) << table.out();
    Launcher json({"algorithms", "--json"});
    EXPECT_EQ(json.wait(), 0);
    EXPECT_EQ(json.out().substr(0, 2), "[\n");
    Launcher unknown({"algorithms", "all_produce"});
    EXPECT_EQ(unknown.wait(), 2);
    EXPECT_NE(unknown.err().find("no operation \"all_produce\""), std::string::npos);
}

TEST(Command, SimulatesAlgorithms) {
    Launcher sim({"sim", "all_reduce", "--ranks", "2:8", "--size", "1K", "--check"});
    EXPECT_EQ(sim.wait(), 0) << sim.err();
    EXPECT_NE(sim.out().find("halving"), std::string::npos) << sim.out();
    Launcher unknown({"sim", "all_reduce", "--algorithm", "wheel"});
    EXPECT_EQ(unknown.wait(), 2);
    EXPECT_NE(unknown.err().find("wheel"), std::string::npos) << unknown.err();
}

}  // namespace
}  // namespace trireme::test
