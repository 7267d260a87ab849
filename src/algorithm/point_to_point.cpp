#include "algorithm/algorithms.h"

namespace trireme::algorithm {

Task send_direct(Call& call) {
    Send send(call, call.peer(), 0, call.in());
    co_await send;
}

Task receive_direct(Call& call) {
    Receive receive(call, call.peer(), 0, call.out());
    co_await receive;
}

}  // namespace trireme::algorithm
