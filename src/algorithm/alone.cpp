#include "algorithm/algorithms.h"

namespace trireme::algorithm {

// A group of one: every collective is a copy of the input, if anything.
Task alone(Call& call) {
    if (info(call.op().kind).shape != Shape::none) {
        call.copy(call.in(), call.out());
        if (info(call.op().kind).reduces) call.conclude(call.out());
    }
    co_return;
}

}  // namespace trireme::algorithm
