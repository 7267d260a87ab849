# Finds what Trireme is built upon, and gathers it in two targets:
#   trireme_linked    libraries that a program which uses the static library must link too
#   trireme_internal  what only our own sources need: private headers, header-only libraries, warnings

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(hwy REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(TriremeHwloc REQUIRED)
find_package(TriremeHttplib REQUIRED)
find_package(nlohmann_json REQUIRED)

# Kept in step with the find_dependency calls of TriremeConfig.cmake.in.
set(TRIREME_LINKED fmt::fmt spdlog::spdlog hwy::hwy Trireme::hwloc Trireme::httplib OpenSSL::Crypto
    Threads::Threads)

# Header-only, and found as headers: Debian's Asio has no CMake package, and the one of msgpack asks
# for Boost, which MSGPACK_NO_BOOST makes needless.
find_path(TRIREME_ASIO_INCLUDE asio.hpp REQUIRED)
find_path(TRIREME_MSGPACK_INCLUDE msgpack.hpp REQUIRED)
mark_as_advanced(TRIREME_ASIO_INCLUDE TRIREME_MSGPACK_INCLUDE)

add_library(trireme_internal INTERFACE)
target_include_directories(trireme_internal INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(trireme_internal SYSTEM INTERFACE
    ${TRIREME_ASIO_INCLUDE} ${TRIREME_MSGPACK_INCLUDE})
target_compile_definitions(trireme_internal INTERFACE
    ASIO_STANDALONE ASIO_NO_DEPRECATED MSGPACK_NO_BOOST)
target_link_libraries(trireme_internal INTERFACE
    trireme_warnings nlohmann_json::nlohmann_json ${TRIREME_LINKED})
trireme_part(core on "fmt ${fmt_VERSION}, spdlog ${spdlog_VERSION}, Highway ${hwy_VERSION}, hwloc ${TriremeHwloc_VERSION}, OpenSSL ${OPENSSL_VERSION}, cpp-httplib ${TriremeHttplib_VERSION}")

# The torch part.
set(TRIREME_HAS_TORCH OFF)
if(TRIREME_WITH_TORCH STREQUAL "OFF")
    trireme_part(torch off "TRIREME_WITH_TORCH is OFF")
else()
    if(TRIREME_WITH_TORCH STREQUAL "ON")
        find_package(TriremeTorch REQUIRED)
    else()
        find_package(TriremeTorch QUIET)
    endif()
    if(TriremeTorch_FOUND)
        set(TRIREME_HAS_TORCH ON)
        # torch brings headers of a fmt of its own, which would hide the one that spdlog and we are
        # built with: ours is put before them, under a path of its own so that the order counts.
        get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fmt-first)
        file(CREATE_LINK ${fmt_include}/fmt ${PROJECT_BINARY_DIR}/fmt-first/fmt SYMBOLIC)
        target_include_directories(Trireme::libtorch SYSTEM BEFORE INTERFACE
            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/fmt-first>)
        trireme_part(torch on "${TriremeTorch_VERSION}${TriremeTorch_KIND} in ${TriremeTorch_ROOT}")
    else()
        trireme_part(torch off "${TriremeTorch_WHY}")
    endif()
endif()
