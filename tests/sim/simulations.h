#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "core/op_info.h"
#include "sim/simulation.h"

namespace trireme {

/// The row of the selection table with this kind and name.
inline const Algorithm& row(OpKind kind, std::string_view name) {
    for (const Algorithm& one : algorithms())
        if (one.kind == kind && one.name == name) return one;
    ADD_FAILURE() << "no algorithm " << name;
    return algorithms().front();
}

/// An operation on phantom buffers, on one host where nothing else is said.
inline SimulationResult run_phantom(OpKind kind, std::string_view name, int ranks,
                                    std::size_t bytes, int hosts = 1) {
    return simulate(
        {.algorithm = &row(kind, name), .ranks = ranks, .hosts = hosts, .bytes = bytes});
}

}  // namespace trireme
