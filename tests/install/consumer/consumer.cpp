#include <cstdio>

#include "trireme/version.h"

int main() { std::printf("trireme %s\n", TRIREME_VERSION); }
