# Finds libtorch, of a Python package or of the unpacked archive: Trireme::libtorch.
#
# TorchConfig.cmake is passed by on purpose: that of a CUDA build demands a CUDA toolkit, which the
# headers used here do not need. So a CUDA build serves on a machine without CUDA compilers.
#
# Looks in TRIREME_TORCH (CMake variable, then environment), then in the .venv of scripts/setup.
# Sets TriremeTorch_FOUND, _ROOT, _VERSION, _KIND (" (CUDA build)" or empty) and, if not found, _WHY.

set(TriremeTorch_FOUND FALSE)
set(TriremeTorch_ROOT "")
set(TriremeTorch_WHY "")

set(_candidates "")
if(TRIREME_TORCH)
    set(_candidates "${TRIREME_TORCH}")
elseif(DEFINED ENV{TRIREME_TORCH} AND NOT "$ENV{TRIREME_TORCH}" STREQUAL "")
    set(_candidates "$ENV{TRIREME_TORCH}")
else()
    file(GLOB _candidates "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
    # An installed Trireme remembers the torch that it was built with.
    list(APPEND _candidates ${TriremeTorch_HINT})
endif()

foreach(_candidate IN LISTS _candidates)
    if(EXISTS "${_candidate}/lib/libtorch.so"
        AND EXISTS "${_candidate}/include/torch/csrc/api/include/torch/torch.h")
        set(TriremeTorch_ROOT "${_candidate}")
        break()
    endif()
endforeach()

function(_trireme_torch_version root result)
    # version.h moved to headeronly/ in 2.9.
    foreach(header IN ITEMS headeronly/version.h csrc/api/include/torch/version.h)
        if(EXISTS "${root}/include/torch/${header}")
            file(STRINGS "${root}/include/torch/${header}" lines
                REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
            if(lines)
                string(REGEX MATCHALL "[0-9]+" numbers "${lines}")
                list(JOIN numbers "." version)
                set(${result} ${version} PARENT_SCOPE)
                return()
            endif()
        endif()
    endforeach()
    set(${result} "" PARENT_SCOPE)
endfunction()

if(NOT TriremeTorch_ROOT)
    if(_candidates)
        set(TriremeTorch_WHY "no include/torch and lib/libtorch.so in ${_candidates}")
    else()
        set(TriremeTorch_WHY "not found: set TRIREME_TORCH or run scripts/setup")
    endif()
else()
    _trireme_torch_version("${TriremeTorch_ROOT}" TriremeTorch_VERSION)
    # Names with std::__cxx11 in them show which ABI the library was built with.
    file(STRINGS "${TriremeTorch_ROOT}/lib/libc10.so" _new_abi
        REGEX "N3c10.*NSt7__cxx1112basic_string" LIMIT_COUNT 1)
    if(NOT TriremeTorch_VERSION)
        set(TriremeTorch_WHY "cannot read the version in ${TriremeTorch_ROOT}")
    elseif(TriremeTorch_VERSION VERSION_LESS 2.11)
        set(TriremeTorch_WHY "${TriremeTorch_VERSION} is too old, 2.11 to 2.15 serve: ${TriremeTorch_ROOT}")
    elseif(NOT _new_abi)
        set(TriremeTorch_WHY "built with _GLIBCXX_USE_CXX11_ABI=0: ${TriremeTorch_ROOT}")
    else()
        set(TriremeTorch_FOUND TRUE)
        if(TriremeTorch_VERSION VERSION_GREATER_EQUAL 2.16)
            message(WARNING "torch ${TriremeTorch_VERSION} is newer than those tried, 2.11 to 2.15")
        endif()
    endif()
endif()

if(NOT TriremeTorch_FOUND)
    if(TriremeTorch_FIND_REQUIRED)
        message(FATAL_ERROR "torch: ${TriremeTorch_WHY}")
    endif()
    return()
endif()

set(TriremeTorch_KIND "")
if(EXISTS "${TriremeTorch_ROOT}/lib/libtorch_cuda.so")
    set(TriremeTorch_KIND " (CUDA build)")
endif()

if(NOT TARGET Trireme::libtorch)
    add_library(Trireme::libtorch INTERFACE IMPORTED)
    # Imported include folders are system folders, so our warnings leave torch's headers alone.
    # Whole paths of libraries let CMake set the run path by itself.
    set_target_properties(Trireme::libtorch PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES
            "${TriremeTorch_ROOT}/include;${TriremeTorch_ROOT}/include/torch/csrc/api/include"
        INTERFACE_LINK_LIBRARIES
            "${TriremeTorch_ROOT}/lib/libtorch.so;${TriremeTorch_ROOT}/lib/libtorch_cpu.so;${TriremeTorch_ROOT}/lib/libc10.so")
    if(TriremeTorch_KIND)
        # For information only: no source needs a CUDA header. The CUDA libraries that libtorch
        # itself needs lie in other Python packages, found at run time through its own run path.
        # libtorch.so must stay linked though nothing names it: it brings the CUDA kernels in.
        set_target_properties(Trireme::libtorch PROPERTIES
            INTERFACE_COMPILE_DEFINITIONS TRIREME_TORCH_CUDA_BUILD
            INTERFACE_LINK_OPTIONS "LINKER:--no-as-needed,--allow-shlib-undefined")
    endif()
endif()
