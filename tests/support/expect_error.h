#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "trireme/error.h"

namespace trireme::test {

/// Runs `action`, which must throw an Error of this code whose text has all these parts.
template <class Action>
void expect_error(ErrorCode code, std::initializer_list<std::string> parts, Action action) {
    try {
        action();
        ADD_FAILURE() << "nothing was thrown";
    } catch (const Error& error) {
        EXPECT_STREQ(name(error.code()), name(code)) << error.what();
        for (const std::string& part : parts) {
            EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
                << "no \"" << part << "\" in: " << error.what();
        }
    }
}

/// As expect_error, for a call that must be refused for its arguments.
template <class Action>
void expect_invalid(Action action, std::initializer_list<std::string> parts) {
    expect_error(ErrorCode::invalid_argument, parts, std::move(action));
}

}  // namespace trireme::test
