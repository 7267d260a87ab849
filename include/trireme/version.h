// The version of the library. CMakeLists.txt reads it from here: this is its only place.
#pragma once

#define TRIREME_VERSION_MAJOR 0
#define TRIREME_VERSION_MINOR 1
#define TRIREME_VERSION_PATCH 0
#define TRIREME_VERSION "0.1.0"
