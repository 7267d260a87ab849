#pragma once

// Who talks to whom. A schedule answers, for one rank and one step, with which peers it exchanges
// which block. It is pure arithmetic on ranks: it moves nothing, allocates nothing and knows no
// link, so that each one is tested alone for every number of ranks, and an algorithm is left with
// nothing but the moving.

#include "algorithm/schedule/binomial_tree.h"
#include "algorithm/schedule/dissemination.h"
#include "algorithm/schedule/pairwise.h"
#include "algorithm/schedule/partition.h"
#include "algorithm/schedule/recursive_doubling.h"
#include "algorithm/schedule/ring.h"
