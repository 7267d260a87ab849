// A mesh: the ranks as a box with named axes, and a group along each axis. Here two copies of a
// model ("dp") are split into parts ("tp"); of four ranks,
//
//              tp 0    tp 1
//     dp 0     rank 0  rank 1
//     dp 1     rank 2  rank 3

#include <cstdio>

#include "trireme/trireme.h"

int main() {
    const auto world = trireme::World::from_env();
    const auto mesh = world.mesh({{"dp", 2}, {"tp", world.size() / 2}});
    const auto tp = mesh.group("tp");  // this row of the table
    const auto dp = mesh.group("dp");  // this column

    int row = world.rank();
    tp.all_reduce(row);
    int column = world.rank();
    dp.all_reduce(column);

    std::printf("rank %d at (dp %d, tp %d): sum of the row %d, of the column %d\n", world.rank(),
                mesh.coordinate("dp"), mesh.coordinate("tp"), row, column);
}

/* Prints, in any order of lines:
rank 0 at (dp 0, tp 0): sum of the row 1, of the column 2
rank 1 at (dp 0, tp 1): sum of the row 1, of the column 4
rank 2 at (dp 1, tp 0): sum of the row 5, of the column 2
rank 3 at (dp 1, tp 1): sum of the row 5, of the column 4
*/
