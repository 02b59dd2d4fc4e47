"""What belongs to what where a key, a block, a condition or a macro stands between."""

import pytest

from tools.filemap.file_mapper import make_file_map_of_text


def outline(source: str, file: str) -> list[str]:
    """Kind and name of each symbol behind those of what it belongs to, with its lines."""
    made = make_file_map_of_text(source.encode(), file)

    def path(index: int) -> str:
        symbol = made.symbols[index]
        above = f"{path(symbol.parent)} > " if symbol.parent is not None else ""
        return above + symbol.name

    return [
        f"{symbol.kind} {path(index)} {symbol.start_line}-{symbol.end_line}"
        for index, symbol in enumerate(made.symbols)
    ]


@pytest.mark.parametrize("file", ["a.js", "a.ts"])
def test_a_member_named_by_a_computed_key_belongs_to_its_object(file: str) -> None:
    source = """const routes = {
  [HOME]: function () {
    function inner() {}
  },
  [Symbol.iterator]() {},
  [ABOUT]: { show() {} },
};
handlers[OPEN] = () => {};
"""
    assert outline(source, file) == [
        "constant routes 1-7",
        "method routes > [HOME] 2-4",
        "function routes > [HOME] > inner 3-3",
        "method routes > [Symbol.iterator] 5-5",
        "property routes > [ABOUT] 6-6",
        "method routes > [ABOUT] > show 6-6",
        "function handlers[OPEN] 8-8",
    ]


def test_fields_of_lua_tables_belong_to_their_table() -> None:
    source = """local M = {
  [OPEN] = function(door) end,
  ["shut"] = function() end,
  sub = {
    fill = function() end,
  },
}
"""
    assert outline(source, "a.lua") == [
        "variable M 1-7",
        "method M > [OPEN] 2-2",
        "method M > shut 3-3",
        "property M > sub 4-6",
        "method M > sub > fill 5-5",
    ]


def test_packages_in_blocks_end_with_their_block() -> None:
    source = """package Shop {
  use strict;
  sub open { 1 }
  package Till;
  sub count { 2 }
}
package Shop::Cart 1.02;
sub add { 1 }
{
  # inside
  package Shop::Hidden;
  sub find { 1 }
}
sub take { 1 }
package Shop::Door;
sub shut { 1 }
"""
    assert outline(source, "Shop.pm") == [
        "package Shop 1-6",
        "function Shop > open 3-3",
        "package Shop > Till 4-5",
        "function Shop > Till > count 5-5",
        "package Shop::Cart 7-14",
        "function Shop::Cart > add 8-8",
        "package Shop::Hidden 11-12",
        "function Shop::Hidden > find 12-12",
        "function Shop::Cart > take 14-14",
        "package Shop::Door 15-16",
        "function Shop::Door > shut 16-16",
    ]


def test_functions_of_a_struct_that_a_function_returns() -> None:
    source = """pub fn List(comptime T: type) type {
    return struct {
        items: []T,
        pub fn init() Self {
            return .{};
        }
        const Node = struct { fn next() void {} };
    };
}
fn sorted(items: []u8) void {
    if (items.len == 0) return;
    sort(items, struct {
        fn less(a: u8, b: u8) bool { return a < b; }
    }.less);
}
"""
    assert outline(source, "list.zig") == [
        "function List 1-9",
        "field List > items 3-3",
        "function List > init 4-6",
        "struct List > Node 7-7",
        "function List > Node > next 7-7",
        "function sorted 10-15",
        "function sorted > less 13-13",
    ]


def test_a_namespace_opened_under_a_condition_and_closed_under_its_twin() -> None:
    source = """namespace outer {
#ifndef LIB_17
namespace lib // NOLINT
{
#endif
constexpr const auto& first = value<int>::get;
#ifdef LIB_MORE
int more();
#endif
int ok() { return read<int>(one->end()); }
#ifndef LIB_17
}  // namespace lib
#endif
class Cart {
  void add() { done(); }
};
int f() { a b c; }
}
int last();
"""
    assert outline(source, "a.hpp") == [
        "namespace outer 1-18",
        "namespace outer > lib 3-12",
        "variable outer > lib > first 6-6",
        "function outer > lib > more 8-8",
        "function outer > lib > ok 10-10",
        "class outer > Cart 14-16",
        "method outer > Cart > add 15-15",
        "function outer > f 17-17",
        "function last 19-19",
    ]


def test_macros_that_look_like_access_labels() -> None:
    source = """class Cart : public Base {
  Q_OBJECT
  LIB_PRIVATE_UNLESS_TESTED:
    const decltype(LIB_TYPES_) types = LIB_TYPES_;
    void add();
  public Q_SLOTS:
    void clear();
  signals:
    void changed();
};
void last();
"""
    assert outline(source, "cart.h") == [
        "class Cart 1-10",
        "field Cart > types 4-4",
        "method Cart > add 5-5",
        "method Cart > clear 7-7",
        "method Cart > changed 9-9",
        "function last 11-11",
    ]


def test_braces_in_literals_of_a_macro_are_none() -> None:
    source = """namespace lib {
class Reader {
#define LIB_MARKS make('[', '{')
  const decltype(LIB_MARKS) marks = LIB_MARKS;
  void read();
#undef LIB_MARKS
};
}
"""
    assert [row.split(" ", 1)[1] for row in outline(source, "a.hpp")] == [
        "lib 1-8",
        "lib > Reader 2-7",
        "lib > Reader > LIB_MARKS 3-3",
        "lib > Reader > marks 4-4",
        "lib > Reader > read 5-5",
    ]


def test_directives_keep_the_macros_they_name() -> None:
    source = (
        "#define LIB_JOIN(x) LIB_JOIN_AGAIN(x) LIB_OTHER(x)\n#define LIB_B(x, y) LIB_C(x) y(x)\nint f();\n"
    )
    assert outline(source, "a.hpp") == ["macro LIB_JOIN 1-1", "macro LIB_B 2-2", "function f 3-3"]


def test_a_call_followed_by_a_brace_is_no_definition() -> None:
    broken = """int f(int a) {
  each_item (item, list) {
    use(item);
  }
  return 0;
}}
  each_item (item, list) {
    use(item);
  }
int g(void) { return 1; }
"""
    assert not [row for row in outline(broken, "a.c") if "each_item" in row]
    unknown = """greet(name, text = none) {
  say name
}
local({
  apply(rows, 1, function(x) {
  repeat("x") {
"""
    assert outline(unknown, "a.xyz") == ["function greet 1-6"]


def test_attributes_of_a_terraform_variable_are_not_rows() -> None:
    source = """variable "region" {
  type    = string
  default = "eu"
  validation {
    condition = true
  }
}
locals {
  name = "shop"
}
resource "aws_s3_bucket" "files" {
  bucket = local.name
}
output "arn" {
  value = 1
}
"""
    assert outline(source, "main.tf") == [
        "variable region 1-7",
        "block locals 8-10",
        "attribute locals > name 9-9",
        "resource aws_s3_bucket.files 11-13",
        "attribute aws_s3_bucket.files > bucket 12-12",
        "output arn 14-16",
    ]


def test_ocaml_attributes_and_extensions_hide_nothing() -> None:
    source = """[%%template
module [@kind k = value] Harness = struct
  let box x = x
end]

let%expect_test "adds" =
  print_endline "1"
;;
"""
    assert outline(source, "a.ml") == [
        "module Harness 2-4",
        "function Harness > box 3-3",
        "test test adds 6-7",
    ]


def test_a_form_with_a_vector_in_a_macro_is_no_method() -> None:
    long = "[" + "one two three " * 10 + "1]"
    source = f"(defmacro twice [x]\n  (let {long} y))\n(defprotocol P\n  (run [this]))\n"
    assert outline(source, "a.clj") == [
        "macro twice 1-2",
        "protocol P 3-4",
        "method P > run 4-4",
    ]


def test_macros_that_stand_for_members_of_a_struct() -> None:
    source = """#define LIB_FIELDS \\
  void* data; \\

struct first_s {
  LIB_FIELDS
};
struct second_s {
  int size;
  LIB_FIELDS
  LIB_PRIVATE_FIELDS
};
enum kind {
  LIB_FIRST,
  LIB_LAST
};
"""
    assert outline(source, "a.c") == [
        "macro LIB_FIELDS 1-2",
        "struct first_s 4-6",
        "struct second_s 7-11",
        "field second_s > size 8-8",
        "enum kind 12-15",
        "enum member kind > LIB_FIRST 13-13",
        "enum member kind > LIB_LAST 14-14",
    ]


def test_conversions_keep_the_arguments_of_their_type() -> None:
    source = "struct A {\n  operator Action<int(A, B)>() const { return a; }\n  operator bool();\n};\n"
    assert outline(source, "a.hpp") == [
        "struct A 1-4",
        "method A > operator Action<int(A, B)> 2-2",
        "method A > operator bool 3-3",
    ]


def test_members_of_an_extension_type() -> None:
    source = """extension type const Id<T>._(Object _value) implements Object {
  static int made() => 1;
  void clear() {}
}
"""
    assert outline(source, "a.dart") == [
        "class Id 1-4",
        "method Id > made 2-2",
        "method Id > clear 3-3",
    ]


def test_fields_of_haskell_records() -> None:
    source = "data Cart = Cart\n  { owner :: Name\n  , one, two :: !Int\n  } | None\nnewtype N = N { unN :: Int }\n"
    assert outline(source, "Cart.hs") == [
        "type Cart 1-4",
        "constructor Cart > Cart 1-4",
        "field Cart > Cart > owner 2-2",
        "field Cart > Cart > one 3-3",
        "field Cart > Cart > two 3-3",
        "constructor Cart > None 4-4",
        "type N 5-5",
        "field N > unN 5-5",
    ]


def test_what_an_expression_names_in_ruby_has_no_name() -> None:
    source = (
        "class Cart\n  delegate :name, :age, to: :owner\n  define_method(:open) { 1 }\n"
        '  define_method(word) { 2 }\n  alias_method "a_#{word}", :open\nend\n'
    )
    assert outline(source, "cart.rb") == [
        "class Cart 1-6",
        "method Cart > name 2-2",
        "method Cart > age 2-2",
        "method Cart > open 3-3",
    ]
