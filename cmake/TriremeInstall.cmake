# Installs headers, libraries, programs and the CMake package. The torch part is a component of the
# package, `find_package(Trireme COMPONENTS torch)`: its users need torch, those of the core do not.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Trireme)

set(torch_headers "trireme/(torch\\.h|torch/|autograd\\.h|parallel)")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    COMPONENT core FILES_MATCHING PATTERN "*.h" REGEX "${torch_headers}" EXCLUDE)
install(TARGETS trireme EXPORT TriremeTargets COMPONENT core)
install(EXPORT TriremeTargets NAMESPACE Trireme:: DESTINATION ${package_dir} COMPONENT core)

if(TRIREME_HAS_TORCH)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT torch FILES_MATCHING PATTERN "trireme/torch*.h" PATTERN "trireme/autograd.h" PATTERN "trireme/parallel*")
    install(TARGETS trireme_torch EXPORT TriremeTorchTargets COMPONENT torch)
    install(EXPORT TriremeTorchTargets NAMESPACE Trireme:: DESTINATION ${package_dir}
        COMPONENT torch)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/TriremeConfig.cmake.in
    ${PROJECT_BINARY_DIR}/TriremeConfig.cmake
    INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/TriremeConfig.cmake
    ${PROJECT_BINARY_DIR}/TriremeConfigVersion.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindTriremeHttplib.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindTriremeHwloc.cmake
    ${PROJECT_SOURCE_DIR}/cmake/FindTriremeTorch.cmake
    DESTINATION ${package_dir} COMPONENT core)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT core)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT core)
