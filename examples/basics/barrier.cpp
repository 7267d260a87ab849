// Rank 0 writes a file, the others read it: a barrier keeps them from looking too early, and
// another one keeps rank 0 from removing it too early.

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    const auto group = world.group();

    // A name that no other run has: after the process of rank 0.
    int process = ::getpid();
    group.broadcast(process, trireme::Root{0});
    const auto path = std::filesystem::temp_directory_path() /
                      ("trireme-barrier-" + std::to_string(process) + ".txt");

    if (world.rank() == 0) std::ofstream(path) << "written by rank 0";
    group.barrier();

    std::string text;
    std::getline(std::ifstream(path), text);
    std::printf("rank %d reads: %s\n", world.rank(), text.c_str());

    group.barrier();
    if (world.rank() == 0) std::filesystem::remove(path);
}

/* Prints, in any order of lines:
rank 0 reads: written by rank 0
rank 1 reads: written by rank 0
rank 2 reads: written by rank 0
rank 3 reads: written by rank 0
*/
