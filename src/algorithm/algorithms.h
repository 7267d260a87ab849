#pragma once

#include "algorithm/call.h"

namespace trireme::algorithm {

// What every entry of the selection table runs; each is explained above its definition.

Task alone(Call& call);
Task cells(Call& call);
Task copies_direct(Call& call);
Task all_reduce_direct(Call& call);
Task reduce_direct(Call& call);
Task reduce_scatter_direct(Call& call);

Task broadcast_binomial(Call& call);
Task broadcast_scatter_ring(Call& call);

Task all_reduce_doubling(Call& call);
Task all_reduce_halving(Call& call);
Task all_reduce_tree(Call& call);
Task all_reduce_ring(Call& call);
Task all_reduce_hosts(Call& call);
Task all_reduce_pairwise(Call& call);

Task reduce_binomial(Call& call);
Task reduce_chain(Call& call);

Task all_gather_ring(Call& call);
Task all_gather_bruck(Call& call);
Task gather_linear(Call& call);
Task scatter_linear(Call& call);

Task reduce_scatter_ring(Call& call);
Task reduce_scatter_pairwise(Call& call);
Task all_to_all_pairwise(Call& call);
Task all_to_all_bruck(Call& call);
Task barrier_dissemination(Call& call);
Task barrier_star(Call& call);

Task scan_chain(Call& call);
Task scan_doubling(Call& call);

Task send_direct(Call& call);
Task receive_direct(Call& call);

}  // namespace trireme::algorithm
