# Finds cpp-httplib: Trireme::httplib. As Debian has it, with its code in a library, or as its authors
# publish it, one header. It has a CMake package in neither form.
find_path(TriremeHttplib_INCLUDE httplib.h)
find_library(TriremeHttplib_LIBRARY cpp-httplib)
mark_as_advanced(TriremeHttplib_INCLUDE TriremeHttplib_LIBRARY)

if(TriremeHttplib_INCLUDE)
    file(STRINGS ${TriremeHttplib_INCLUDE}/httplib.h TriremeHttplib_VERSION
        REGEX "define CPPHTTPLIB_VERSION ")
    string(REGEX REPLACE "[^\"]*\"(.*)\"" "\\1" TriremeHttplib_VERSION "${TriremeHttplib_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TriremeHttplib
    REQUIRED_VARS TriremeHttplib_INCLUDE
    VERSION_VAR TriremeHttplib_VERSION)

# The header must be read as the library was built, which is with TLS.
set(TriremeHttplib_DEFINITIONS "")
if(TriremeHttplib_LIBRARY)
    set(TriremeHttplib_DEFINITIONS CPPHTTPLIB_OPENSSL_SUPPORT)
endif()

if(TriremeHttplib_FOUND AND NOT TARGET Trireme::httplib)
    add_library(Trireme::httplib INTERFACE IMPORTED)
    set_target_properties(Trireme::httplib PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES ${TriremeHttplib_INCLUDE})
    if(TriremeHttplib_LIBRARY)
        set_target_properties(Trireme::httplib PROPERTIES
            INTERFACE_LINK_LIBRARIES ${TriremeHttplib_LIBRARY})
    endif()
endif()
