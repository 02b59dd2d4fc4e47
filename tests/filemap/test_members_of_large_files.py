"""Symbols that a reference such as ctags finds in large files: members, and what stands beside code that a grammar
misreads."""

import pytest

from tools.filemap.file_mapper import make_file_map_of_text

Rows = list[tuple[str, str, int]]


def rows(source: str, file: str) -> Rows:
    return [
        (each.kind, each.name, each.start_line)
        for each in make_file_map_of_text(source.encode(), file).symbols
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "class Pool {\n  Pool(int n)\n      :\n#if CHECKED\n        most_(n),\n#endif\n        left_(n) {}\n"
            "  int left();\n};\nvoid Pool::grow() {}\n",
            [("class", "Pool", 1), ("method", "Pool", 2), ("method", "left", 8), ("method", "grow", 10)],
        ),
        (
            "class Pool {\n  bool ready_ GUARDED_BY(mutex_);\n  Queue<Job> jobs_\n      GUARDED_BY(mutex_);\n};\n",
            [("class", "Pool", 1), ("field", "ready_", 2), ("field", "jobs_", 3)],
        ),
        (
            "class Call {\n  Call(Member Owner::* to) noexcept {}\n  Call(int (^block)(int)) {}\n  int run();\n};\n",
            [("class", "Call", 1), ("method", "Call", 2), ("method", "Call", 3), ("method", "run", 4)],
        ),
    ],
)
def test_classes_of_cpp_around_what_the_grammar_misreads(source: str, found: Rows) -> None:
    assert rows(source, "pool.cpp") == found


def test_a_macro_that_a_function_defines() -> None:
    source = "static int keys(int n)\n{\n    int i = 0;\n#define NEXT(a) (a + 1)\n    return i;\n}\nint f(void) {}\n"
    assert rows(source, "keys.c") == [("function", "keys", 1), ("macro", "NEXT", 4), ("function", "f", 7)]


def test_objective_c_with_availability_and_instance_variables() -> None:
    source = (
        "@interface Player () <NSCopying> {\n    int _phase;\n    NSString *_name;\n}\n"
        "@property (nonatomic) Song *song LIB_AVAILABLE(ios(10), macos(10.12));\n@end\n"
        "@implementation Player\n- (void)play:(Song *)song LIB_AVAILABLE(ios(10)) {\n    [song start];\n}\n"
        "- (void)stop {\n}\n@end\n"
    )
    assert rows(source, "Player.m") == [
        ("class", "Player", 1),
        ("field", "_phase", 2),
        ("field", "_name", 3),
        ("property", "song", 5),
        ("implementation", "Player", 7),
        ("method", "play:", 8),
        ("method", "stop", 11),
    ]


def test_types_and_callbacks_of_elixir() -> None:
    source = (
        'defmodule Cart do\n  @typedoc "A cart."\n  @type t :: map\n  @typep acc(x) :: x\n'
        '  @doc "Called first."\n  @callback init(opts :: list) :: t when t: term\n  def f(x), do: @limit + x\nend\n'
    )
    made = make_file_map_of_text(source.encode(), "cart.ex")
    assert rows(source, "cart.ex") == [
        ("module", "Cart", 1),
        ("type", "t", 3),
        ("type", "acc", 4),
        ("callback", "init", 6),
        ("function", "f", 7),
    ]
    assert [each.doc for each in made.symbols] == ["", "A cart.", "", "Called first.", ""]


def test_verilog_with_parameters_and_what_the_grammar_misreads() -> None:
    source = (
        "module adder #(\n    parameter WIDTH = 8\n) (\n    input clk,\n`ifdef TRACED\n    output traced,\n`endif\n"
        "    output done\n);\n    localparam MOST = `MAX(WIDTH, 4), LEAST = 1;\n    `KEEP reg kept;\n"
        "    typedef enum logic { IDLE, BUSY } state_e;\n    initial begin\n        total[0] = 1;\n"
        "        bus.ready[1] = 1;\n"
        "        `assert(kept);\n    end\n    task rest;\n        begin end\n    endtask\nendmodule\n"
        "module top;\n    adder #(.WIDTH(4)) u_adder (.clk(clk));\nendmodule\n"
    )
    assert rows(source, "adder.sv") == [
        ("module", "adder", 1),
        ("constant", "WIDTH", 2),
        ("constant", "MOST", 10),
        ("constant", "LEAST", 10),
        ("type", "state_e", 12),
        ("enum member", "IDLE", 12),
        ("enum member", "BUSY", 12),
        ("initial", "initial", 13),
        ("task", "rest", 18),
        ("module", "top", 22),
        ("instance", "u_adder", 23),
    ]


def test_members_operators_and_procedures_of_fortran() -> None:
    source = (
        "module grids\n  integer, parameter :: ik = 4, &\n                        rk = 8\n  interface operator(//)\n"
        "    module procedure join\n  end interface\n  enum, bind(c)\n    enumerator :: red = 1, green\n  end enum\n"
        "  type :: grid\n    integer :: n\n    procedure(run), pointer :: act => null()\n  contains\n"
        "#ifdef WIDE\n    generic :: show => show_a, &\n                       show_b\n#endif\n"
        "    procedure :: LIB_NAMED(grow)\n    generic :: operator(+) => add\n  end type\ncontains\n"
        "  subroutine join(a)\n    integer :: local\n  end subroutine\nend module\n"
    )
    assert rows(source, "grids.F90") == [
        ("module", "grids", 1),
        ("constant", "ik", 2),
        ("constant", "rk", 3),
        ("interface", "//", 4),
        ("enum member", "red", 8),
        ("enum member", "green", 8),
        ("struct", "grid", 10),
        ("field", "n", 11),
        ("field", "act", 12),
        ("method", "show", 15),
        ("method", "grow", 18),
        ("method", "+", 19),
        ("function", "join", 22),
    ]


def test_fields_of_julia_and_no_field_for_a_constructor() -> None:
    source = "struct Grid{T} <: Shape\n    cells::Matrix{T}\n    name\n    const size::Int\n    Grid(x) = new(x)\nend\n"
    source += "Base.@kwdef mutable struct Options\n    depth::Int = 3\nend\nf(x) = x\n"
    assert rows(source, "grid.jl") == [
        ("struct", "Grid", 1),
        ("field", "cells", 2),
        ("field", "name", 3),
        ("field", "size", 4),
        ("function", "Grid", 5),
        ("struct", "Options", 7),
        ("field", "depth", 8),
        ("function", "f", 10),
    ]


@pytest.mark.parametrize(
    ("source", "file", "found"),
    [
        (
            "class Disk(\n    val path: Path,\n    private var used: Long,\n    now: Now,\n) {\n    fun f() {}\n}\n",
            "Disk.kt",
            [("class", "Disk", 1), ("property", "path", 2), ("property", "used", 3), ("method", "f", 6)],
        ),
        (
            "final case class Box[A](value: A, private val key: Int)\nclass Disk(val path: Path, used: Long)\n",
            "Box.scala",
            [
                ("class", "Box", 1),
                ("field", "value", 1),
                ("field", "key", 1),
                ("class", "Disk", 2),
                ("field", "path", 2),
            ],
        ),
        (
            "record Point(int X, int Y)\n{\n    int Sum(int other) => X + other;\n}\nclass Disk(int size) { }\n",
            "Point.cs",
            [
                ("record", "Point", 1),
                ("property", "X", 1),
                ("property", "Y", 1),
                ("method", "Sum", 3),
                ("class", "Disk", 5),
            ],
        ),
    ],
)
def test_properties_that_a_constructor_declares(source: str, file: str, found: Rows) -> None:
    assert rows(source, file) == found


def test_items_in_a_constant_of_rust_without_a_name() -> None:
    source = "const _: () = {\n    impl Service for Router {\n        fn call(&self) {}\n    }\n};\nconst N: u8 = 1;\n"
    assert rows(source, "lib.rs") == [
        ("impl", "Service for Router", 2),
        ("method", "call", 3),
        ("constant", "N", 6),
    ]


def test_a_field_of_zig_with_a_comment_and_members() -> None:
    source = (
        "const Result = union(enum) {\n    ok: struct {\n        /// Where it is.\n        path: []const u8,\n\n"
        "        pub fn open(self: @This()) void {}\n    },\n    /// Nothing there.\n    missing,\n};\n"
    )
    assert rows(source, "main.zig") == [
        ("union", "Result", 1),
        ("field", "ok", 2),
        ("field", "path", 4),
        ("function", "open", 6),
        ("field", "missing", 9),
    ]
    docs = {each.name: each.doc for each in make_file_map_of_text(source.encode(), "main.zig").symbols}
    assert docs["path"] == "Where it is."
    assert docs["missing"] == "Nothing there."


def test_an_argument_of_scala_that_is_a_sentence_is_no_test() -> None:
    source = 'trait Old {\n  @deprecated(\n    "kept for old callers, use that",\n    "2.9.0"\n  )\n  def f = 1\n}\n'
    assert rows(source, "Old.scala") == [("trait", "Old", 1), ("method", "f", 2)]


def test_names_of_one_declaration_on_several_lines() -> None:
    source = "int first,\n    second,\n    third;\n"
    assert rows(source, "a.c") == [
        ("variable", "first", 1),
        ("variable", "second", 2),
        ("variable", "third", 3),
    ]


def test_definitions_of_elixir_inside_other_calls() -> None:
    source = (
        "defmodule Made do\n  defmacro __using__(_) do\n    made =\n      quote do\n        def sail(x), do: x\n"
        "        @type t :: term\n      end\n    made\n  end\n  if Mix.env() == :dev do\n    def only_here, do: :ok\n"
        "  else\n    def elsewhere, do: :ok\n  end\n  def plain(x) do\n    Enum.map(x, fn y -> y + 1 end)\n  end\nend\n"
    )
    assert rows(source, "made.ex") == [
        ("module", "Made", 1),
        ("macro", "__using__", 2),
        ("function", "sail", 5),
        ("type", "t", 6),
        ("function", "only_here", 11),
        ("function", "elsewhere", 13),
        ("function", "plain", 15),
    ]


def test_procedures_of_fortran_in_fixed_form() -> None:
    source = (
        "*> \\brief Adds.\n*\n*  ====\n      SUBROUTINE DADD( N, X,\n     $                 Y )\n      INTEGER N\n"
        "C     A comment\nC\n      IF( N.EQ.0\n     $      .OR. X.EQ.0 ) THEN\n         DO 90 JC = 1, N\n"
        "            WRITE( N, FMT = 9991 )N, X,\n     $         Y( JC )\n   90    CONTINUE\n      END IF\n"
        " 9991 FORMAT( ' Types (see DADD): ' )\n      END\n*\n"
        "      DOUBLE PRECISION FUNCTION DNORM( N )\n      DNORM = 0\n      END FUNCTION\n"
    )
    assert rows(source, "dadd.f") == [("function", "DADD", 4), ("function", "DNORM", 19)]
    assert [each.end_line for each in make_file_map_of_text(source.encode(), "dadd.f").symbols] == [17, 21]


def test_a_class_in_a_string_of_cpp_is_none() -> None:
    source = 'int f(int a) {\n  g(a %%% ;\n  h("x \\\n    struct Shader\\\n    {\\\n    };\\\n  ");\n}\n'
    source += "struct Kept {\n};\n"
    assert ("struct", "Shader", 4) not in rows(source, "a.cpp")
    assert ("struct", "Kept", 9) in rows(source, "a.cpp")


def test_a_constructor_below_its_macro_and_constexpr() -> None:
    source = "struct Tile : Atom {\n  LIB_HOST_DEVICE constexpr\n  Tile(Atom a = {})\n"
    source += "    : Atom(a),\n      size_(a.size()) {}\n  int size_;\n};\n"
    assert rows(source, "tile.hpp") == [("struct", "Tile", 1), ("method", "Tile", 2), ("field", "size_", 6)]


def test_objective_cpp_with_a_macro_above_a_class_and_types_of_namespaces() -> None:
    source = (
        "enum class State { Ready };\nLIB_DIRECT_MEMBERS\n@implementation Token {\n    realm::Object _object;\n}\n"
        "- (void)stop {\n}\n@end\n\nToken *makeToken(int a) {\n    return nil;\n}\n"
    )
    assert rows(source, "Token.mm") == [
        ("enum", "State", 1),
        ("enum member", "Ready", 1),
        ("implementation", "Token", 3),
        ("field", "_object", 4),
        ("method", "stop", 6),
        ("function", "makeToken", 10),
    ]


def test_fields_of_classes_of_r() -> None:
    source = (
        'Shelf <- R6Class("Shelf",\n  public = list(\n    size = 1,\n    add = function(x) x\n  ),\n'
        "  private = list(.key = NULL)\n)\nplain <- list(a = 1)\n"
    )
    assert rows(source, "shelf.R") == [
        ("class", "Shelf", 1),
        ("field", "size", 3),
        ("method", "add", 4),
        ("field", ".key", 6),
        ("variable", "plain", 8),
    ]


def test_functions_of_powershell_after_a_slip() -> None:
    source = (
        "function Expand-Proxy($command) {\n    if ($definition -match $script:ProxyPattern) {\n"
        "function Write-Log([string] $Message) {\n}\n"
    )
    assert [each[1] for each in rows(source, "first.ps1")] == ["Expand-Proxy", "Write-Log"]


def test_members_of_protocols_enums_and_tables() -> None:
    swift = "protocol Shown {\n    var realm: Realm? { get }\n    static var count: Int { get }\n}\n"
    assert rows(swift, "Shown.swift") == [
        ("protocol", "Shown", 1),
        ("property", "realm", 2),
        ("property", "count", 3),
    ]
    zig = "const Kind = enum(u8) {\n    first,\n    _,\n};\n"
    assert rows(zig, "kind.zig") == [("enum", "Kind", 1), ("field", "first", 2)]
    lua = "local bar = Bar:new{\n  close = not readonly and function() return 1 end,\n  width = 3,\n}\n"
    assert rows(lua, "bar.lua") == [("variable", "bar", 1), ("method", "close", 2)]
    verilog = (
        "module m #(parameter type req_t = logic) ();\n  enum logic { IDLE, BUSY } state;\n"
        "  typedef struct packed {\n    logic a, b;\n  } pair_t;\nendmodule\n"
    )
    assert rows(verilog, "m.sv") == [
        ("module", "m", 1),
        ("type", "req_t", 1),
        ("enum member", "IDLE", 2),
        ("enum member", "BUSY", 2),
        ("type", "pair_t", 3),
        ("field", "a", 4),
        ("field", "b", 4),
    ]


def test_constructors_of_cpp_below_a_macro_with_braced_defaults() -> None:
    source = (
        "namespace lib {\nclass Pipe {\n  using Token = lib::Token;\n  template <class A>\n  LIB_DEVICE\n"
        "  Pipe(Part& part, A = {}, Token token = {Token::None})\n      : part_(part)\n      , token_(token) {\n"
        "    if constexpr (same<A>) {}\n  }\n  int size = 0;\n};\n}\n"
    )
    assert rows(source, "pipe.hpp") == [
        ("namespace", "lib", 1),
        ("class", "Pipe", 2),
        ("type", "Token", 3),
        ("method", "Pipe", 4),
        ("field", "size", 11),
    ]


def test_methods_of_objective_c_after_a_body_that_the_grammar_does_not_know() -> None:
    source = (
        "@implementation Realm\n- (void)check {\n    try {\n        _realm->verify();\n    }\n"
        "    catch (std::exception const& e) {\n        @throw Error(e);\n    }\n}\n"
        "- (BOOL)next:(Read &)read {\n    return _realm->next(read, ^(Note *) { return 1; });\n}\n@end\n"
    )
    expected = [("implementation", "Realm", 1), ("method", "check", 2), ("method", "next:", 10)]
    assert rows(source, "Realm.mm") == expected


def test_fields_of_a_constructor_of_ocaml() -> None:
    source = "type t =\n  | Closed\n  | Open of\n      { fd : int\n      ; mutable ended : bool\n      }\n"
    assert rows(source, "state.ml") == [
        ("type", "t", 1),
        ("constructor", "Closed", 2),
        ("constructor", "Open", 3),
        ("field", "fd", 4),
        ("field", "ended", 5),
    ]
