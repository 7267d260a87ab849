# The three things that are made here besides the libraries: programs, tests, torch users.

# trireme_use_torch(<target>): links the torch part, and shares one precompiled <torch/torch.h>.
function(trireme_use_torch target)
    target_link_libraries(${target} PRIVATE Trireme::torch)
    # Named outright: CMake would leave out the folder of a .venv inside the tree.
    set_property(TARGET ${target} APPEND PROPERTY INSTALL_RPATH ${TriremeTorch_ROOT}/lib)
    # A precompiled header serves only code compiled alike: programs as well as libraries take -fPIC.
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC ${TRIREME_PCH_OPTIONS})
    target_precompile_headers(${target} REUSE_FROM trireme_torch_pch)
    trireme_unity(${target})
endfunction()

# trireme_unity(<target>): several of its source files at a time, where that is asked for.
function(trireme_unity target)
    set_target_properties(${target} PROPERTIES
        UNITY_BUILD ${TRIREME_UNITY} UNITY_BUILD_BATCH_SIZE ${TRIREME_UNITY_BATCH})
    if(TRIREME_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # It takes a source file that another one includes for a header.
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
endfunction()

# trireme_program(<name> SOURCES <file>... [TARGET <target>] [TORCH] [INSTALL]): a program in
# <build>/bin, made by a target of its name or of the one given.
# With TORCH and no torch there, or without sources, it makes nothing.
function(trireme_program name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "TORCH;INSTALL" "TARGET" "SOURCES")
    if(NOT arg_SOURCES OR (arg_TORCH AND NOT TRIREME_HAS_TORCH))
        return()
    endif()
    set(target ${name})
    if(arg_TARGET)
        set(target ${arg_TARGET})
    endif()
    add_executable(${target} ${arg_SOURCES})
    target_link_libraries(${target} PRIVATE Trireme::trireme trireme_internal)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin
        INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    if(arg_TORCH)
        trireme_use_torch(${target})
    else()
        trireme_unity(${target})
        # The tests that start programs wait for these; those with torch would make them wait long.
        set_property(GLOBAL APPEND PROPERTY TRIREME_PLAIN_PROGRAMS ${target})
    endif()
    if(arg_INSTALL)
        install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
    endif()
endfunction()

# trireme_test(<name> SOURCES <file>... [TORCH] [WHOLE] [SERIAL] [LABEL <label>] [TIMEOUT <s>]
#              [DEFINITIONS ...] [DEPENDS ...]): a test program in <build>/tests.
# One label only: gtest_discover_tests flattens lists among its properties.
# CTest gets an entry for each case, so that a hang names its case and costs only its own time limit;
# with WHOLE it gets one for the program, where the start of a process costs more than its cases.
function(trireme_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg
        "TORCH;WHOLE;SERIAL" "LABEL;TIMEOUT" "SOURCES;DEFINITIONS;DEPENDS")
    if(arg_TORCH AND NOT TRIREME_HAS_TORCH)
        return()
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE trireme_test_support)
    target_compile_definitions(${name} PRIVATE ${arg_DEFINITIONS})
    set_target_properties(${name} PROPERTIES
        POSITION_INDEPENDENT_CODE OFF
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    if(arg_TORCH)
        trireme_use_torch(${name})
    else()
        target_compile_options(${name} PRIVATE ${TRIREME_PCH_OPTIONS})
        target_precompile_headers(${name} REUSE_FROM trireme_test_support)
    endif()
    if(arg_DEPENDS)
        add_dependencies(${name} ${arg_DEPENDS})
    endif()

    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    if(TRIREME_SANITIZE)
        math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 4")
    endif()
    set(properties TIMEOUT ${arg_TIMEOUT})
    if(arg_LABEL)
        list(APPEND properties LABELS ${arg_LABEL})
    endif()
    if(arg_SERIAL)
        list(APPEND properties RUN_SERIAL ON)
    endif()
    if((arg_TORCH OR arg_DEPENDS) AND TRIREME_SANITIZE MATCHES "address")
        # libtorch is not instrumented: a vector that it grew looks overflown to our code, and
        # what it allocated with the one allocator may be freed in our code with the other.
        list(APPEND properties ENVIRONMENT_MODIFICATION
            "ASAN_OPTIONS=string_append::detect_container_overflow=0:alloc_dealloc_mismatch=0")
    endif()
    if(arg_WHOLE)
        add_test(NAME ${name} COMMAND ${name})
        set_tests_properties(${name} PROPERTIES ${properties})
    else()
        gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
            TEST_PREFIX "${name}." PROPERTIES ${properties})
    endif()
endfunction()
