#include <ATen/ATen.h>

#include <cstdio>

#include "trireme/version.h"

int main() {
    const at::Tensor ones = at::ones({4});
    std::printf("trireme %s with torch: %g\n", TRIREME_VERSION, ones.sum().item<double>());
}
