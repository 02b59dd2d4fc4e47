"""Sources that lead a grammar astray: macros it cannot know, and slips after which it finds nothing more."""

import pytest

from tools.filemap.file_mapper import make_file_map_of_text
from tools.filemap.rendering.file_map_rendering import render_file_map


def names(source: str, file: str) -> list[str]:
    return [symbol.name for symbol in make_file_map_of_text(source.encode(), file).symbols]


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
    made = make_file_map_of_text(source.encode(), "a.sh")
    assert [(symbol.name, symbol.start_line, symbol.end_line) for symbol in made.symbols] == [
        ("a", 1, 3),
        ("b", 5, 7),
        ("c", 9, 11),
    ]


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("`KEY=<any>`", "KEY=<any>"),
        ("**Bold** <b>x</b> `a*b`", "Bold x a*b"),
        ("a &lt;-&gt; b `&lt;`", "a <-> b &lt;"),
        (".returns\\<Type>()", ".returns<Type>()"),
    ],
)
def test_code_in_headings_stays_as_it_is(heading: str, name: str) -> None:
    assert names(f"# {heading}\n", "a.md") == [name]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("The ``attr`` Namespace", "The attr Namespace"),
        (":mod:`os.path` and `Links <there>`_", "os.path and Links"),
        ("*Very* **bold** 2 * 3", "Very bold 2 * 3"),
        ("A_B__ `C`", "A_B__ C"),
        ("Docutils_ and its_parts", "Docutils and its_parts"),
    ],
)
def test_titles_of_restructured_text_are_without_marks(title: str, name: str) -> None:
    assert names(f"{title}\n{'=' * 60}\n\nText.\n", "a.rst") == [name]


@pytest.mark.parametrize(
    ("source", "file", "ends"),
    [
        ("A = 1\n\n\nall: x\n\techo\n", "Makefile", [("A", 1), ("all", 5)]),
        (
            "object A {\n  def f =\n    g()\n\n  /** Gives\n   *  one. */\n  def h =\n    1\n  }\n",
            "a.scala",
            [("A", 9), ("f", 3), ("h", 8)],
        ),
    ],
)
def test_what_only_the_next_one_ends_is_over_with_its_last_word(
    source: str, file: str, ends: list[tuple[str, int]]
) -> None:
    made = make_file_map_of_text(source.encode(), file)
    assert [(symbol.name, symbol.end_line) for symbol in made.symbols] == ends


@pytest.mark.parametrize(
    ("source", "file", "shown"),
    [
        (
            "struct a {\n  struct b *next;\n  enum c kind;\n};\n",
            "a.c",
            ["a", "struct b *next", "enum c kind"],
        ),
        ("public final class A<B>: C {\n  class func f() {}\n}\n", "a.swift", ["A<B>: C", "f()"]),
        ("const a = Ref{IO}(stdin)\n", "a.jl", ["a = Ref{IO}(stdin)"]),
        ("local function f(a, b)\n\t-- return\n\treturn a\nend\n", "a.lua", ["f(a, b)"]),
        ('a = "[0-9]{4}-b"\n', "a.py", ['a = "[0-9]{4}-b"']),
        ("a,\nb > c {\n  d: e;\n}\n", "a.css", ["a, b > c"]),
        ("a = { 'b:c': (d) => { e() } }\n", "a.js", ["a", "'b:c': (d)"]),
        ("const A = b.c({\n  // what it is\n  d: 1,\n});\n", "a.js", ["A = b.c({ d: 1, })"]),
    ],
)
def test_signatures_say_what_is_declared(source: str, file: str, shown: list[str]) -> None:
    signatures = [symbol.signature or "" for symbol in make_file_map_of_text(source.encode(), file).symbols]
    assert len(signatures) == len(shown)
    assert all(signature.endswith(part) for signature, part in zip(signatures, shown, strict=True)), (
        signatures
    )


def test_locals_of_zig_are_no_symbols_but_types_in_functions_are() -> None:
    source = "fn f() type {\n    const a = 1;\n    const B = struct {\n        const c = 2;\n    };\n    return B;\n}\n"
    assert names(source, "a.zig") == ["f", "B", "c"]


@pytest.mark.parametrize(
    ("source", "file", "imports"),
    [
        ("package a\nimport b.C\nimport d.e\nfun f() {}\n", "a.kt", ("b.C", "d.e")),
        ("module A where\nimport B.C\nimport qualified D as E\nf = 1\n", "a.hs", ("B.C", "D")),
    ],
)
def test_imports_are_named(source: str, file: str, imports: tuple[str, ...]) -> None:
    assert tuple(make_file_map_of_text(source.encode(), file).imports) == imports


def test_a_comment_in_xml_is_told_by_its_text() -> None:
    source = '/// <summary>\n/// Counts <see cref="A"/> things.\n/// </summary>\npublic class A { }\n'
    assert [symbol.doc for symbol in make_file_map_of_text(source.encode(), "a.cs").symbols] == [
        "Counts A things."
    ]


def test_modules_after_a_slip_in_one_of_verilog() -> None:
    source = (
        "module a(b);\n  input b;\n  if (c) begin ( end\nendmodule\n\nmodule d(e);\n  input e;\nendmodule\n"
    )
    made = make_file_map_of_text(source.encode(), "a.v")
    modules = [symbol for symbol in made.symbols if symbol.kind == "module"]
    assert [(each.name, each.start_line, each.end_line, each.parent) for each in modules] == [
        ("a", 1, 4, None),
        ("d", 6, 8, None),
    ]


def test_blocks_and_generated_parts_of_vhdl_hold_what_is_in_them() -> None:
    source = (
        "architecture a of b is\nbegin\n  c : block\n  begin\n    d : process (clk)\n    begin\n    end process;\n"
        "  end block;\n  e : if f generate\n    g : entity work.h;\n  end generate;\nend architecture;\n"
    )
    made = make_file_map_of_text(source.encode(), "a.vhd")
    assert [(each.kind, each.name, each.parent) for each in made.symbols] == [
        ("architecture", "a", None),
        ("block", "c", 0),
        ("process", "d", 1),
        ("generate", "e", 0),
        ("instance", "g", 3),
    ]


def test_parts_of_a_component_hold_their_functions() -> None:
    parts = "  computed: {\n    a() {},\n  },\n  methods: {\n    b() {},\n  },\n"
    made = make_file_map_of_text(f"<script>\nexport default {{\n{parts}}};\n</script>\n".encode(), "a.vue")
    assert [(each.name, each.end_line, each.parent) for each in made.symbols] == [
        ("script", 10, None),
        ("default", 9, 0),
        ("computed", 5, 1),
        ("a", 4, 2),
        ("methods", 8, 1),
        ("b", 7, 4),
    ]


@pytest.mark.parametrize(
    ("file", "source", "shown"),
    [
        (
            "a.ts",
            "class A {\n  /** Pays. */\n  @Input() @Once private pay(): void {}\n  get total() { return 1 }\n}\n",
            [
                "class A [1-5]",
                "method private @Input @Once pay(): void [3] — Pays.",
                "method get total() [4]",
            ],
        ),
        (
            "a.dart",
            "class A {\n  /// Pays.\n  @override\n  int pay() => 1;\n}\n",
            ["class A [1-5]", "method @override int pay() [4] — Pays."],
        ),
        (
            "a.rb",
            "# Cart.\nclass Cart\n  # Pays\n  # at once.\n  def pay\n  end\nend\n",
            ["class Cart [2-7] — Cart.", "method pay [5-6] — Pays"],
        ),
        (
            "a.ex",
            'defmodule A do\n  @moduledoc "Cart."\n\n  @doc """\n  Pays.\n  """\n  @spec pay(any) :: any\n'
            "  def pay(x), do: x\n\n  @doc false\n  def go, do: 1\nend\n",
            ["module A [1-12] — Cart.", "function pay(x) [8] — Pays.", "function go [11]"],
        ),
        ("a.go", "package a\n\ntype Cart struct{ N int }\n", ["struct Cart [3]", "field N int [3]"]),
        ("a.zig", "pub const A = struct { a: u8 };\n", ["struct pub A [1]", "field a: u8 [1]"]),
    ],
)
def test_what_stands_above_a_declaration_belongs_to_it_alone(
    file: str, source: str, shown: list[str]
) -> None:
    text = render_file_map(
        make_file_map_of_text(source.encode(), file, deadline_seconds=60), level="full"
    ).text
    assert [line.strip() for line in text.splitlines() if line.endswith("]") or " — " in line] == shown


def outline(source: str, file: str) -> list[tuple[str, int, int]]:
    made = make_file_map_of_text(source.encode(), file, deadline_seconds=60)
    return [(symbol.name, symbol.start_line, symbol.end_line) for symbol in made.symbols]


def test_clauses_are_told_apart_by_their_arguments_however_long_their_heads_are() -> None:
    erlang = (
        "-module(a).\n"
        "f(#{kind := buyer, name := Name, city := City, street := Street, number := Number, floor := Floor, "
        "door := Door, letter := Letter, colour := Colour}, <<_:8, _/binary>>) -> one;\n"
        'f(_, "a,b") -> % two, of course\n  two.\n\n'
        "f(_) -> three.\n"
    )
    assert outline(erlang, "a.erl") == [("a", 1, 1), ("f", 2, 4), ("f", 6, 6)]
    elixir = (
        "defmodule A do\n  def f(%{kind: :buyer, name: _, city: _, street: _, number: _, floor: _, door: _, "
        'letter: _, colour: _, size: _, weight: _}, b), do: b\n  def f(_, ","), do: 2\n'
        "  def f(_), do: 1\nend\n"
    )
    assert outline(elixir, "a.ex") == [("A", 1, 5), ("f", 2, 3), ("f", 4, 4)]


def test_a_sub_that_is_only_announced_ends_with_its_line() -> None:
    perl = (
        "package A;\nsub pay($$);\n\n%A::Main = (\n    PAY => \\&pay,\n    NOTES => q{ some },\n);\n\n"
        "sub pay($$)\n{\n    1;\n}\n1;\n"
    )
    assert [each for each in outline(perl, "A.pm") if each[0] == "pay"] == [("pay", 2, 2), ("pay", 9, 12)]


def test_a_macro_that_keeps_macros_away_is_no_name() -> None:
    source = "struct A {\n  int min BOOST_PREVENT_MACRO_SUBSTITUTION () const { return 1; }\n};\n"
    assert outline(source, "a.hpp") == [("A", 1, 3), ("min", 2, 2)]


def test_a_macro_before_the_type_of_a_function_adds_nothing_to_its_name() -> None:
    source = "inline CONSTEXPR20 result\nsail(list_t<int> &boats) noexcept {\n  return 1;\n}\n"
    assert [symbol.name for symbol in make_file_map_of_text(source.encode(), "a.cpp").symbols] == ["sail"]


def test_a_slip_before_a_long_blank_rest() -> None:
    """No node contains the middle of such a text."""
    source = "int f(int a) { %%% ;\n}\n" + "  \n" * 4000
    assert names(source, "a.cpp") == ["f"]


def test_a_condition_that_goes_on_under_another_is_no_function() -> None:
    source = (
        "void f(int a)\n{\n    if (a == 0)\n\tg();\n#ifdef B\n    else if (h(t()[a].name, 1) == 0)\n\tg();\n"
        "    else if (h(t()[a].name, 2) == 0)\n\tg();\n#endif\n}\nint k(void) { return 0; }\n"
    )
    assert names(source, "a.c") == ["f", "k"]


def test_an_unsafe_property_of_swift_has_its_name() -> None:
    assert names("struct A {\n    nonisolated(unsafe) internal let config: B\n}\n", "A.swift") == [
        "A",
        "config",
    ]
