"""Who owns what where no class says so, routes of web programs, and what grammars make of primes, operators, macros."""

import pytest

from app.cli.commands.map_command import file_map_json
from tools.filemap.file_map import FileMap, find_symbols_named
from tools.filemap.file_mapper import make_file_map_of_text
from tools.filemap.rendering.file_map_rendering import render_file_map


def told(source: str, file: str) -> list[str]:
    """Each symbol with its kind, below what it belongs to."""
    return rows(make_file_map_of_text(source.encode(), file))


def rows(made: FileMap) -> list[str]:
    def path(index: int) -> str:
        symbol = made.symbols[index]
        above = f"{path(symbol.parent)} > " if symbol.parent is not None else ""
        return above + symbol.name

    return [f"{symbol.kind} {path(index)}" for index, symbol in enumerate(made.symbols)]


@pytest.mark.parametrize("file", ["a.js", "a.ts"])
@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("X.fn = {\n  row() {},\n};\n", ["property X.fn", "method X.fn > row"]),
        ("const I = {\n  open: function () {},\n};\n", ["constant I", "method I > open"]),
        (
            "Object.assign(Boat.prototype, {\n  sail() {},\n});\n",
            ["property Boat.prototype", "method Boat.prototype > sail"],
        ),
        (
            "module.exports = {\n  load() {},\n  size: 1,\n};\n",
            ["property module.exports", "method module.exports > load"],
        ),
        (
            "export default defineComponent({\n  setup() {},\n  methods: {\n    row() {},\n  },\n});\n",
            [
                "constant default",
                "method default > setup",
                "property default > methods",
                "method default > methods > row",
            ],
        ),
        (
            "const a = { b: { c() {} } };\n",
            ["constant a", "property a > b", "method a > b > c"],
        ),
        (
            "function f() {\n  const local = {\n    start() {\n      return 1;\n    },\n  };\n}\n",
            ["function f", "constant f > local", "method f > local > start"],
        ),
        ("module.exports = { a, b };\n", []),
        ("var a = 1, f = function (x) {\n  return x;\n};\n", ["variable a", "function f"]),
    ],
)
def test_methods_of_objects_have_their_owner(source: str, file: str, found: list[str]) -> None:
    assert told(source, file) == found


def test_an_owned_method_is_found_by_both_names() -> None:
    made = make_file_map_of_text(
        b"export const routes = {\n  get(request) {\n    return 1;\n  },\n};\n", "a.js"
    )
    assert [symbol.start_line for symbol in find_symbols_named(made, "routes.get")] == [2]


ROUTES = {
    "a.py": (
        "@app.route('/users/<int:id>', methods=['GET', 'POST'])\ndef show(id):\n    return id\n\n\n"
        "@router.get('/items/{id}')\n@login\nasync def item(id):\n    return id\n\n\n"
        "@patch('/no/route')\ndef test_it():\n    client.get('/users')\n",
        ["GET,POST /users/<int:id> → show", "GET /items/{id} → item"],
    ),
    "urls.py": (
        "urlpatterns = [\n    path('boats/<int:id>/', views.boat),\n    path('admin/', include(admin.urls)),\n]\n",
        ["/boats/<int:id>/ → views.boat"],
    ),
    "a.js": (
        "function start() {\n  app.get('/users/:id', auth, show);\n  router.post('/users', async (req, res) => {\n"
        "    res.send(1);\n  });\n}\nrouter.route('/book').get(one).post(add);\n"
        "fetch('/users');\naxios.get('/users', options);\ncache.get('key', fallback);\n",
        ["GET /users/:id → show", "POST /users", "GET /book → one", "POST /book → add"],
    ),
    "a.ts": (
        "@Controller('cats')\nexport class Cats {\n  @Get(':id')\n  one(@Param('id') id: string) {\n    return id;\n"
        "  }\n\n  @Post()\n  @Header('a', 'b')\n  create() {}\n}\n",
        ["GET /cats/:id → one", "POST /cats → create"],
    ),
    "a.go": (
        'package p\n\nfunc main() {\n\tr.GET("/users/:id", show)\n\thttp.HandleFunc("/health", health)\n'
        '\tmux.HandleFunc("POST /boats", add)\n\tx.Get("name", other)\n}\n',
        ["GET /users/:id → show", "/health → health", "POST /boats → add"],
    ),
    "A.java": (
        '@RestController\n@RequestMapping("/api")\nclass A {\n    @GetMapping("/boats/{id}")\n'
        "    public Boat one(Long id) {\n        return null;\n    }\n\n    @RequestMapping(\n"
        '        value = "/boats",\n        method = RequestMethod.DELETE\n'
        "    )\n    @ResponseStatus(\n        HttpStatus.NO_CONTENT\n    )\n    void remove() {\n    }\n}\n",
        ["GET /api/boats/{id} → one", "DELETE /api/boats → remove"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("file", ROUTES)
def test_routes_are_symbols_with_what_answers_them(file: str) -> None:
    source, found = ROUTES[file]
    made = make_file_map_of_text(source.encode(), file)
    assert [symbol.signature for symbol in made.symbols if symbol.kind == "route"] == found


def test_a_route_in_a_function_stands_in_it_at_its_own_line() -> None:
    made = make_file_map_of_text(
        b'package p\n\nfunc main() {\n\tr.GET("/a", show)\n\tr.GET("/b", show)\n}\n', "a.go"
    )
    routes = [symbol for symbol in made.symbols if symbol.kind == "route"]
    assert [(symbol.start_line, made.symbols[symbol.parent or 0].name) for symbol in routes] == [
        (4, "main"),
        (5, "main"),
    ]


def test_a_method_of_a_type_in_another_file_says_its_type() -> None:
    made = make_file_map_of_text(b"package p\n\nfunc (s *Server) Start() error {\n\treturn nil\n}\n", "a.go")
    assert rows(made) == ["method Server.Start"]
    assert [symbol.start_line for symbol in find_symbols_named(made, "Start")] == [3]


def test_documents_of_a_cluster_are_called_by_kind_and_name() -> None:
    source = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n---\n# of the sea\n"
        'kind: "Service"\napiVersion: v1\nmetadata:\n  labels:\n    name: no\n  name: "web-service"\n---\nplain: 1\n'
    )
    made = make_file_map_of_text(source.encode(), "deploy.yaml")
    assert [row for row in rows(made) if ">" not in row] == [
        "resource Deployment web",
        "resource Service web-service",
        "key plain",
    ]
    assert [(one.start_line, one.end_line) for one in made.symbols if one.kind == "resource"] == [
        (1, 6),
        (9, 14),
    ]


@pytest.mark.parametrize(
    ("source", "file", "found"),
    [
        ("let x' = 1\nlet rec fold' f a = a\n", "a.ml", ["value x'", "function fold'"]),
        ("foldl' :: Int\nfoldl' = 1\n", "A.hs", ["function foldl'"]),
        (
            "defmodule A do\n  def a <~> b, do: a\n  defp (a <<< b), do: a\n  def unquote(name)(x), do: x\nend\n",
            "a.ex",
            ["module A", "function A > <~>", "function A > <<<", "function A > unquote(name)"],
        ),
        (
            "{\n    package Boat;\n\n    sub row { 1 }\n}\n\nsub run { 2 }\n\n__END__\n\n=head1 X\n\nsub never {\n}\n",
            "a.pl",
            [
                "package Boat",
                "function Boat > row",
                "function run",
                "documentation head1 X",
            ],
        ),
    ],
)
def test_names_and_places_that_grammars_get_wrong(source: str, file: str, found: list[str]) -> None:
    assert told(source, file) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "class B {\n  operator std::string() const;\n};\n\nB::operator float() const {\n  return 1;\n}\n",
            ["class B", "method B > operator std::string", "method B > operator float"],
        ),
        (
            "#define OPEN {\n#define CLOSE }\nint f(int a) OPEN\n  return a;\nCLOSE\nint g() { return 1; }\n",
            ["macro OPEN", "macro CLOSE", "function f", "function g"],
        ),
        (
            "namespace a {\nLIB_BEGIN_NS {\nclass B { int x; };\n}\nint f() { return 1; }\n}\nint g();\n",
            ["namespace a", "class a > B", "field a > B > x", "function a > f", "function g"],
        ),
        (
            "namespace a {\nvoid B::f() {\n#if X\n  if (b) {\n#else\n  {\n#endif\n    go();\n  }\n}\nint g();\n}\n",
            ["namespace a", "method a > B::f", "function a > g"],
        ),
        (
            "static void LIB_EXPORTED\ndo_it (void)\n{\n}\n\nstatic HWND\nopen_it (void)\n{\n}\n",
            ["function do_it", "function open_it"],
        ),
        (
            "template <typename T>\ntypename Fleet<T>::iterator\nFleet<T>::begin ()\n{\n  return 0;\n}\n",
            ["method Fleet<T>::begin"],
        ),
        ("union N {\n  int i;\n};\n", ["union N", "field N > i"]),
    ],
)
def test_braces_of_macros_and_operators_of_cpp(source: str, found: list[str]) -> None:
    assert told(source, "a.cpp") == found


OBJC = (
    "@implementation Player\n\nRCT_EXPORT_MODULE()\n\nRCT_EXPORT_METHOD(stop:(NSString *)why\n"
    "                  resolver:(Block)resolve)\n{\n  resolve(@1);\n}\n\n- (void)play {\n}\n@end\n"
)


def test_macros_between_methods_of_objective_c() -> None:
    assert told(OBJC, "Player.m") == [
        "implementation Player",
        "method Player > stop:resolver:",
        "method Player > play",
    ]


def test_cpp_around_classes_of_objective_c() -> None:
    cpp = "namespace sound {\nclass Mixer {\n  void mix();\n};\n}\n\n"
    assert told(cpp + OBJC, "Player.mm") == [
        "namespace sound",
        "class sound > Mixer",
        "method sound > Mixer > mix",
        "implementation Player",
        "method Player > stop:resolver:",
        "method Player > play",
    ]


def test_annotations_over_many_lines_are_no_part_of_the_declaration() -> None:
    option = '    @Option(\n        names = { "-a" },\n        text = "x { y"\n    )\n'
    source = f"class A {{\n{option}    private int all = 1;\n}}\n"
    made = make_file_map_of_text(source.encode(), "A.java")
    assert [(symbol.signature, symbol.start_line, symbol.end_line) for symbol in made.symbols] == [
        ("A", 1, 7),
        ("int all = 1", 2, 6),
    ]


def test_names_are_whole_for_programs_and_cut_for_readers() -> None:
    name = "boat_" * 60
    made = make_file_map_of_text(f"def {name}():\n    pass\n".encode(), "a.py")
    assert file_map_json(made)["symbols"][0]["name"] == name
    assert name not in render_file_map(made, level="full").text
    long = "key " * 60 + "end"
    kept = file_map_json(make_file_map_of_text(f'{{"{long}": 1}}\n'.encode(), "a.json"))["symbols"][0]["name"]
    assert kept == long
