#pragma once

// How Highway chooses instruction sets here; included before any header of Highway.

#ifndef HWY_DISABLED_TARGETS
// Processors that have SSSE3 but not SSE4 are rare; they take the scalar loop.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#endif
