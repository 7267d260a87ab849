#include "page.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "figure_text.h"
#include "markup.h"
#include "page_parts.h"
#include "page_style.h"

namespace trireme::bench {
namespace {

std::string scalar_text(const nlohmann::json& value) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    return value.is_number() ? value.dump() : "";
}

// Every text and number of the report's head, as "name value".
std::string facts_of(const nlohmann::json& object) {
    std::string html;
    for (const auto& [name, value] : object.items()) {
        if (name == "rows" || name == "limits") continue;
        if (value.is_object()) {
            for (const auto& [inner, fact] : value.items()) {
                if (const std::string text = scalar_text(fact); !text.empty()) {
                    html += fmt::format("<span>{} <b>{}</b></span>\n", escaped_markup(inner),
                                        escaped_markup(text));
                }
            }
        } else if (const std::string text = scalar_text(value); !text.empty()) {
            html += fmt::format("<span>{} <b>{}</b></span>\n", escaped_markup(name),
                                escaped_markup(text));
        }
    }
    return html.empty() ? "" : "<div class=\"facts\">\n" + html + "</div>\n";
}

std::string alarm_part(const std::vector<OperationRows>& operations) {
    std::string list;
    std::size_t count = 0;
    for (const OperationRows& operation : operations) {
        for (const ResultRow& row : operation.rows) {
            std::map<std::string, std::uint64_t> wrong = row.peers_wrong;
            wrong["Trireme"] = row.wrong.value_or(0);
            std::erase_if(wrong, [](const auto& who) { return who.second == 0; });
            count += wrong.empty() ? 0 : 1;
            for (const auto& [name, values] : wrong) {
                list += fmt::format("<li>{}, {}: {} wrong values by {}</li>\n",
                                    escaped_markup(operation.title()), case_text(row), values,
                                    escaped_markup(name));
            }
        }
    }
    if (count == 0) return "";
    return fmt::format(
        "<div class=\"alarm\" role=\"alert\"><b>WRONG RESULTS</b> in {} of the "
        "measurements: their times mean nothing.\n<ul>\n{}</ul></div>\n",
        count, list);
}

std::string checked_text(const ResultRows& all) {
    const auto unchecked = static_cast<std::size_t>(
        std::ranges::count_if(all.rows, [](const ResultRow& row) { return !row.wrong; }));
    std::string text =
        fmt::format("{} measurement{}", all.rows.size(), all.rows.size() == 1 ? "" : "s");
    if (all.rows.empty()) {
        text = "This report holds no measurements";
    } else if (unchecked > 0) {
        text += fmt::format(", the results of {} not checked", unchecked);
    } else {
        text += ", all results checked";
    }
    if (all.unreadable > 0)
        text += fmt::format("; {} of its rows could not be read", all.unreadable);
    return text + ".";
}

}  // namespace

std::string OperationRows::title() const { return variant.empty() ? op : op + ", " + variant; }

std::vector<OperationRows> by_operation(const ResultList& rows) {
    std::vector<OperationRows> result;
    for (const ResultRow& row : rows) {
        auto found = std::ranges::find_if(result, [&row](const OperationRows& operation) {
            return operation.op == row.op && operation.variant == row.variant;
        });
        if (found == result.end()) {
            result.push_back({.op = row.op, .variant = row.variant, .rows = {}});
            found = std::prev(result.end());
        }
        found->rows.push_back(row);
    }
    return result;
}

std::string case_text(const ResultRow& row) {
    return fmt::format("{} rank{}{}{}", row.ranks, row.ranks == 1 ? "" : "s",
                       row.bytes > 0 ? ", " + bytes_text(row.bytes) : "",
                       row.buffers == "shared" ? ", shared buffers" : "");
}

std::string bench_page(const nlohmann::json& report) {
    const ResultRows all = read_result_rows(report);
    const auto operations = by_operation(all.rows);
    const auto limits =
        report.is_object() ? report.value("limits", nlohmann::json()) : nlohmann::json();
    std::string html =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Trireme benchmark</title>\n<style>";
    html += page_style;
    html += "</style>\n</head>\n<body>\n<h1>Trireme benchmark</h1>\n";
    html += fmt::format("<p>{}</p>\n", checked_text(all));
    if (report.is_object()) html += facts_of(report);
    html += alarm_part(operations);
    if (!all.rows.empty()) {
        html += goals_part(all.rows) + ratios_part(operations) +
                curves_part(operations, LimitTime(limits));
    }
    html += limits_part(limits);
    if (!all.rows.empty()) html += figures_part(operations);
    html += "<pre id=\"tip\"></pre>\n<script>";
    html += page_script;
    return html + "</script>\n</body>\n</html>\n";
}

int page_command(int argc, char** argv) {
    CLI::App app("Draws the results of a benchmark as one HTML page.", "trireme bench page");
    std::string in;
    std::string out;
    app.add_option("IN", in,
                   "What trireme bench --json wrote.\n"
                   "Example: trireme bench page results.json --html results.html")
        ->required()
        ->type_name("FILE");
    app.add_option("--html", out, "The page to write.\nExample: --html results.html")
        ->required()
        ->type_name("FILE");
    try {
        app.parse(argc, argv);
        const std::string page = bench_page(read_report(in));
        std::ofstream file(out);
        file << page;
        file.close();
        if (!file) {
            throw std::runtime_error(fmt::format("cannot write {}: {}", out, std::strerror(errno)));
        }
        return 0;
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "trireme bench page: {} (see trireme bench page --help)\n",
                   error.what());
        return 2;
    } catch (const std::exception& error) {
        fmt::print(stderr, "trireme bench page: {}\n", error.what());
        return 1;
    }
}

}  // namespace trireme::bench
