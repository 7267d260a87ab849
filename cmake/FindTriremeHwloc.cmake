# Finds hwloc, which brings no CMake package: Trireme::hwloc.
find_path(TriremeHwloc_INCLUDE hwloc.h)
find_library(TriremeHwloc_LIBRARY hwloc)
# Apart from hwloc.h where the system keeps a folder for each architecture.
find_path(TriremeHwloc_CONFIG hwloc/autogen/config.h)
mark_as_advanced(TriremeHwloc_INCLUDE TriremeHwloc_LIBRARY TriremeHwloc_CONFIG)

if(TriremeHwloc_CONFIG)
    file(STRINGS ${TriremeHwloc_CONFIG}/hwloc/autogen/config.h TriremeHwloc_VERSION
        REGEX "define HWLOC_VERSION ")
    string(REGEX REPLACE "[^\"]*\"(.*)\"" "\\1" TriremeHwloc_VERSION "${TriremeHwloc_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TriremeHwloc
    REQUIRED_VARS TriremeHwloc_LIBRARY TriremeHwloc_INCLUDE
    VERSION_VAR TriremeHwloc_VERSION)

if(TriremeHwloc_FOUND AND NOT TARGET Trireme::hwloc)
    add_library(Trireme::hwloc UNKNOWN IMPORTED)
    set_target_properties(Trireme::hwloc PROPERTIES
        IMPORTED_LOCATION ${TriremeHwloc_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES ${TriremeHwloc_INCLUDE})
endif()
