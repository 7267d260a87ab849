# How everything here is compiled. Nothing of it reaches a program that uses the installed library.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# Static archives too may end in a shared object, such as a Python module.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The Debian build types of the dependencies do not have the names of ours.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

trireme_part(compiler on
    "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")

# -Wconversion is left out: byte and index arithmetic would drown in casts, which hide more
# mistakes than they show.
add_library(trireme_warnings INTERFACE)
target_compile_options(trireme_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough)
if(TRIREME_WARNINGS_AS_ERRORS)
    target_compile_options(trireme_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False alarms of GCC 12's optimiser: on coroutine frames (uninitialised, mismatched delete,
    # dangling) and in inlined std::string and std::vector code (restrict, bounds, overflow).
    target_compile_options(trireme_warnings INTERFACE
        -Wno-maybe-uninitialized -Wno-mismatched-new-delete -Wno-dangling-pointer
        -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()

if(TRIREME_SANITIZE)
    add_compile_options(-fsanitize=${TRIREME_SANITIZE})
    add_link_options(-fsanitize=${TRIREME_SANITIZE})
    if(TRIREME_SANITIZE MATCHES "undefined")
        # Not vptr: it asks for type information that libtorch keeps hidden.
        add_compile_options(-fno-sanitize-recover=all -fno-sanitize=vptr)
        add_link_options(-fno-sanitize=vptr)
    endif()
    if(TRIREME_SANITIZE MATCHES "thread")
        # The thread sanitizer knows no fences. Those of Asio around handlers repeat what its queues'
        # mutexes order anyway.
        add_compile_definitions(ASIO_DISABLE_FENCED_BLOCK)
    endif()
    trireme_part(sanitizers on "${TRIREME_SANITIZE}")
endif()

find_program(TRIREME_CCACHE_PROGRAM ccache)
mark_as_advanced(TRIREME_CCACHE_PROGRAM)
if(NOT TRIREME_CCACHE)
    trireme_part(ccache off "TRIREME_CCACHE is OFF")
elseif(NOT TRIREME_CCACHE_PROGRAM)
    trireme_part(ccache off "not found: run scripts/setup")
elseif(CMAKE_CXX_COMPILER_LAUNCHER)
    trireme_part(ccache off "another launcher is set: ${CMAKE_CXX_COMPILER_LAUNCHER}")
else()
    # Precompiled headers are cached only when told so; the time macros in them do not matter. Paths
    # count from the source folder, so that a second clone finds what the first has compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
        CCACHE_NOHASHDIR=1 ${TRIREME_CCACHE_PROGRAM})
    trireme_part(ccache on "${TRIREME_CCACHE_PROGRAM}")
endif()
# What ccache needs in order to see through a precompiled header.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(TRIREME_PCH_OPTIONS -fpch-preprocess)
else()
    set(TRIREME_PCH_OPTIONS "SHELL:-Xclang -fno-pch-timestamp")
endif()
