"""Sources that lead a grammar astray: macros it cannot know, and slips after which it finds nothing more."""

import pytest

from tools.filemap.map import map_text


def names(source: str, file: str) -> list[str]:
    return [symbol.name for symbol in map_text(source.encode(), file).symbols]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("namespace lib LIB_VISIBILITY(default)\n{\nint f();\n}\n", ["lib", "f"]),
        ("class A {\n  LIB_NODISCARD\n  std::string\n  name() const;\n};\n", ["A", "name"]),
        ("class A {\n  int begin() _LIB_NOEXCEPT\n  { return 1; }\n};\n", ["A", "begin"]),
        ("class LIB_API A\r\n{\r\n  int f();\r\n};\r\n", ["A", "f"]),
        ("struct A {\n  LIB_COMPARED(eq, ==)\n  LIB_COMPARED(ne, !=)\n  int f();\n};\n", ["A", "f"]),
        ("int LIB_CALL f(int a);\n", ["f"]),
        ("LIB_INLINE A::A(int a)\n  : b(a)\n{}\n", ["A::A"]),
        ("int printed(const char *f, ...)\n    lib_attr((__format__(printf, 1, 2)));\n", ["printed"]),
        ("int (*handler_of(const Box *box)) (Box *, int);\n", ["handler_of"]),
        ("int (lib_open) (int a);\n", ["lib_open"]),
        ("class A {\n  LIB_INLINE LIB_CONSTEXPR A(int i) LIB_NOEXCEPT : b(i) {}\n};\n", ["A", "A"]),
        (
            "struct A {\n  explicit LIB_API A();\n  LIB_API ~A() LIB_NOEXCEPT = default;\n};\n",
            ["A", "A", "~A"],
        ),
        ("class A {\n  LIB_API LIB_CXX14 typename B<C>::type f(int a) const;\n};\n", ["A", "f"]),
        ('class A {\n  LIB_ASSERT(\n    (a > sizeof(b)), "c");\n  int f();\n};\n', ["A", "f"]),
        (
            "class A {\n  LIB_API bool operator==(A& a) LIB_IF(noexcept(b<A>().c(d())));\n};\n",
            ["A", "operator=="],
        ),
        (
            "class A {\n  A()\n#if B\n    : c(0)\n  {}\n#else\n    : c{0}\n  {}\n#endif\n  int f();\n};\n",
            ["A", "A", "f"],
        ),
        ("#ifdef B\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return a;\n}\nint g();\n", ["f", "g"]),
        ("#ifdef B\nint f(int a);\n#else\nint g(long a);\n#endif\n", ["f", "g"]),
        ("enum E {\n#ifdef B\n  C,\n#else\n  D,\n#endif\n};\n", ["E", "C", "D"]),
        ("LIB_NUMBER f(int a);\n", ["f"]),
    ],
)
def test_macros_around_declarations(source: str, found: list[str]) -> None:
    assert names(source, "a.hpp") == found


def test_a_name_before_a_colon_has_none() -> None:
    source = "class LIB a: public b {\n  int f();\n};\n%%% (\nclass LIB_API c: public b {\n  int g();\n};\n"
    assert not [name for name in names(source, "a.hpp") if name.endswith(":")]


def test_subs_after_what_may_begin_a_pattern() -> None:
    source = (
        "sub a () { pi2/360 }\nsub b (;$) { 360/pi2 }\n\nsub c {\n    1;\n}\n\n=pod\n\nsub d { }\n\n=cut\n"
    )
    assert [name for name in names(source, "a.pm") if len(name) == 1] == ["a", "b", "c"]


def test_functions_after_what_a_shell_grammar_cannot_read() -> None:
    source = (
        'a() {\n  eval "(( \\${#${x[@]} > 0 ))"\n}\n\nb() { # <file>\n  echo\n}\n\nfunction c {\n  echo\n}\n'
    )
    made = map_text(source.encode(), "a.sh")
    assert [(symbol.name, symbol.start_line, symbol.end_line) for symbol in made.symbols] == [
        ("a", 1, 3),
        ("b", 5, 7),
        ("c", 9, 11),
    ]


@pytest.mark.parametrize(
    ("heading", "name"), [("`KEY=<any>`", "KEY=<any>"), ("**Bold** <b>x</b> `a*b`", "Bold x a*b")]
)
def test_code_in_headings_stays_as_it_is(heading: str, name: str) -> None:
    assert names(f"# {heading}\n", "a.md") == [name]
