"""Tests of scripts/check-coroutines: snippets that must pass, and ones that must be refused."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "check-coroutines"
loader = importlib.machinery.SourceFileLoader("check_coroutines", str(SCRIPT))
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_coroutines", loader))
loader.exec_module(module)

GOOD = [
    "co_await f();",
    "co_await link.send(a, b, {1, 2});",
    "co_await f(x ? 1 : 2, a + b, c && d);",
    "auto x = co_await f();",
    "const auto& x = co_await f<int, 3>(y);",
    "Foo<std::pair<int, int>> x = co_await f();",
    "std::size_t n = co_await link->recv(span);",
    "auto [a, b] = co_await f();",
    "auto& [a, b] = co_await f();",
    "[[maybe_unused]] auto x = co_await f();",
    "int* p = co_await f();",
    "if (x) co_await f();",
    "if constexpr (x) co_await f(); else co_await g();",
    "for (int i = 0; i < n; ++i) co_await f(i);",
    "for (auto& peer : peers) { co_await f(peer); }",
    "while (true) { auto x = co_await f(); if (!x) break; }",
    "do { co_await f(); } while (more);",
    "switch (k) { case 1: co_await f(); break; default: co_await g(); }",
    "(void)co_await f();",
    "co_await *this;",
    "co_await std::move(x);",
    "co_await f([&](int i) { return i + 1; });",
    "co_yield 3;",
    "co_return;",
    "co_return x + 1;",
    "// return co_await f();\nco_await g();",
    "/* if (co_await f()) */ co_await g();",
    'log("return co_await f()"); co_await g();',
    'log(R"(x = co_await "f")"); co_await g();',
    "auto n = 1'000'000; co_await f();",
    "auto c = '\"'; co_await f(); auto d = '\"';",
    "auto f = [](int i) { return i; }; co_await g(f);",
    "int a[3]; a[f([] { return 1; })] = 2; co_await g();",
]

REFUSED = [
    ("return co_await f();", "return statement"),
    ("co_return co_await f();", "co_return"),
    ("if (co_await f()) g();", "condition"),
    ("if (auto x = co_await f()) g();", "condition"),
    ("if (auto x = co_await f(); x) g();", "condition"),
    ("while (co_await f()) {}", "condition"),
    ("for (;; co_await f()) {}", "condition"),
    ("for (auto x : co_await f()) {}", "condition"),
    ("switch (co_await f()) {}", "condition"),
    ("g(co_await f());", "argument"),
    ("auto x = g(1, co_await f());", "argument"),
    ("a[co_await f()] = 1;", "subscript"),
    ("auto x = (co_await f()).y;", "argument"),
    ("auto x = c ? co_await f() : 1;", "expression"),
    ("auto x = c ? 1 : co_await f();", "ternary"),
    ("auto x = co_await f() ? 1 : 2;", "ternary"),
    ("c ? co_await f() : co_await g();", "ternary"),
    ("auto x = co_await f() + 1;", "operator +"),
    ("auto x = co_await f() * 2;", "operator *"),
    ("auto x = 1 + co_await f();", "expression"),
    ("auto x = !co_await f();", "expression"),
    ("bool x = co_await f() && co_await g();", "operator &&"),
    ("x = co_await f();", "assignment"),
    ("a.b = co_await f();", "assignment"),
    ("p->b = co_await f();", "assignment"),
    ("*p = co_await f();", "assignment"),
    ("a[i] = co_await f();", "assignment"),
    ("x += co_await f();", "expression"),
    ("std::vector<int> v{co_await f(), 1};", "initialiser list"),
    ("auto x = T{co_await f()};", "initialiser list"),
    ("auto x = int(co_await f());", "argument"),
    ("auto x = (int)co_await f();", "cast"),
    ("throw co_await f();", "expression"),
    ("auto f = [] { co_return; };", "lambda"),
    ("auto f = [&](int i) -> Task<void> { co_await g(i); };", "lambda"),
    ("auto f = [x = 1]<typename T>(T i) mutable -> Task<T> { co_return i; };", "lambda"),
    ("run([&]() -> Task<> { if (x) { co_await g(); } });", "lambda"),
    ("return [] { co_return; };", "lambda"),
    ("#define AWAIT(x) \\\n  co_await x", "macro"),
]


def problems(snippet):
    return module.Source(f"Task<void> coroutine() {{\n{snippet}\n}}\n").check()


class CheckCoroutines(unittest.TestCase):
    def test_good(self):
        for snippet in GOOD:
            with self.subTest(snippet):
                self.assertEqual(problems(snippet), [])

    def test_refused(self):
        for snippet, reason in REFUSED:
            with self.subTest(snippet):
                found = problems(snippet)
                self.assertTrue(found, "was let pass")
                self.assertTrue(any(reason in text for _, text in found), found)

    def test_line_numbers(self):
        self.assertEqual(problems('/* a\nb */ f("x");\n\nreturn co_await f();')[0][0], 5)


if __name__ == "__main__":
    unittest.main()
