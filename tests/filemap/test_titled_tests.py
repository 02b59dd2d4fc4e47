"""Tests that are called by a title, in the words of each language, and calls that only look like one."""

import pytest

from tools.filemap.file_mapper import make_file_map_of_text


def outline(source: str, file: str) -> list[tuple[str, str, int, int, str]]:
    """Kind, name, first and last line, and what each symbol belongs to."""
    made = make_file_map_of_text(source.encode(), file)
    return [
        (
            each.kind,
            each.name,
            each.start_line,
            each.end_line,
            made.symbols[each.parent].name if each.parent is not None else "",
        )
        for each in made.symbols
    ]


def titles_in(source: str, file: str) -> list[str]:
    return [name for kind, name, *_ in outline(source, file) if kind == "test"]


def test_scala_in_all_its_styles() -> None:
    source = """class CartSpec extends AnySpec {
  test("adds") {
    val one = "test(\\"none\\") {"
  }
  describe("Cart") {
    it("sums up", Slow) {
      1
    }
  }
  "A stack" should "pop" in {
    1
  }
  it should "push" in { 2 }
  "An empty one" when {
    "asked" in {
      3
    }
  }
  "val x: Int = 1" should compile
  implicit val monad: Monad = new Monad {
    def pure = 1
  }
}
"""
    assert outline(source, "CartSpec.scala") == [
        ("class", "CartSpec", 1, 23, ""),
        ("test", "test adds", 2, 4, "CartSpec"),
        ("test", "describe Cart", 5, 9, "CartSpec"),
        ("test", "it sums up", 6, 8, "describe Cart"),
        ("test", "A stack should pop", 10, 12, "CartSpec"),
        ("test", "it should push", 13, 13, "CartSpec"),
        ("test", "An empty one", 14, 18, "CartSpec"),
        ("test", "asked", 15, 17, "An empty one"),
        ("constant", "monad", 20, 22, "CartSpec"),
        ("method", "pure", 21, 21, "monad"),
    ]


def test_haskell_by_layout() -> None:
    source = """spec :: Spec
spec = describe "Cart" $ do
  it "adds" $ do
    add 1 `shouldBe` 2

  context "when full" $
    prop "refuses" $ \\n -> n > 0
  -- it "is a comment" $ do
tests = testGroup "all"
  [ testCase "one" first
  , testProperty "two" $ \\x ->
      x == x
  ]
"""
    assert outline(source, "CartSpec.hs") == [
        ("function", "spec", 1, 7, ""),
        ("test", "describe Cart", 2, 7, "spec"),
        ("test", "it adds", 3, 4, "describe Cart"),
        ("test", "context when full", 6, 7, "describe Cart"),
        ("test", "prop refuses", 7, 7, "context when full"),
        ("function", "tests", 9, 13, ""),
        ("test", "testGroup all", 9, 13, "tests"),
        ("test", "testCase one", 10, 10, "testGroup all"),
        ("test", "testProperty two", 11, 12, "testGroup all"),
    ]


def test_dart_with_the_functions_inside() -> None:
    source = """void main() {
  group('Cart', () {
    test('adds', () async {
      void check() {
        print('x');
      }

      check();
    });
  });
}

void other(Cart test) {
  test.run('x', 1);
}
"""
    assert outline(source, "cart_test.dart") == [
        ("function", "main", 1, 11, ""),
        ("test", "group Cart", 2, 10, "main"),
        ("test", "test adds", 3, 9, "group Cart"),
        ("function", "check", 4, 6, "test adds"),
        ("function", "other", 13, 15, ""),
    ]


def test_lua_with_a_function_behind_the_title() -> None:
    source = """describe("Cart", function()
  local function fill()
  end

  it('adds', function()
    log:context("x", function() end)
  end)
end)
it("has no function")
"""
    assert outline(source, "cart_spec.lua") == [
        ("test", "describe Cart", 1, 8, ""),
        ("function", "fill", 2, 3, "describe Cart"),
        ("test", "it adds", 5, 7, "describe Cart"),
    ]


def test_perl_with_a_text_in_the_margin() -> None:
    source = """use Test::More;

subtest 'adds' => sub {
  my $page = <<EOF;
<p>
}
EOF
  subtest "deep" => sub { ok 1 };
  sub inner { 1 }
};

subtest(removes => sub {
  ok 1;
});
"""
    found = outline(source, "cart.t")
    assert [(name, parent) for kind, name, *_, parent in found if kind == "test"] == [
        ("subtest adds", ""),
        ("subtest deep", "subtest adds"),
        ("subtest removes", ""),
    ]


def test_bats_beside_the_functions_of_a_shell() -> None:
    source = """setup() {
  cd /
}

@test "adds (a file)" {
  run add
  [ "$status" -eq 0 ]
}

@test 'removes' {
  run rm
}
"""
    assert outline(source, "cart.bats") == [
        ("function", "setup", 1, 3, ""),
        ("test", "@test adds (a file)", 5, 8, ""),
        ("test", "@test removes", 10, 12, ""),
    ]


def test_julia_with_and_without_a_title() -> None:
    source = """@testset "Cart" begin
    @testset "of $n" for n in 1:2
        @test n > 0
    end
    f(x) = x
end
@testset MySet begin
    @test true
end
"""
    assert outline(source, "runtests.jl") == [
        ("test", "@testset Cart", 1, 6, ""),
        ("test", "@testset of $n", 2, 4, "@testset Cart"),
        ("function", "f", 5, 5, "@testset Cart"),
        ("test", "@testset", 7, 9, ""),
    ]


def test_go_names_its_subtests() -> None:
    source = """package cart

func TestCart(t *testing.T) {
	t.Run("adds", func(t *testing.T) {
		t.Run(`deep`, func(t *testing.T) {
		})
	})
	t.Run(name, func(t *testing.T) {})
	cmd.Run("x", 1)
}
"""
    assert outline(source, "cart_test.go") == [
        ("function", "TestCart", 3, 10, ""),
        ("test", "t.Run adds", 4, 7, "TestCart"),
        ("test", "t.Run deep", 5, 6, "t.Run adds"),
    ]


def test_powershell_with_functions_in_its_blocks() -> None:
    source = """Describe "Cart" {
    BeforeAll {
        function Add-Item { 1 }
    }
    It 'adds' -TestCases @(
        @{ a = 1 }
    ) {
        1
    }
    <#
    It 'is a comment' {
    }
    #>
}
"""
    assert outline(source, "Cart.Tests.ps1") == [
        ("test", "Describe Cart", 1, 14, ""),
        ("function", "Add-Item", 3, 3, "Describe Cart"),
        ("test", "It adds", 5, 9, "Describe Cart"),
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("context.log('a', () => {});\ntest.setTimeout('b', () => 1);\nit.next('c', function () {});\n", []),
        ("describe.only('a', () => {\n  it.skip('b', () => {});\n});\n", ["describe.only a", "it.skip b"]),
        (
            "test.describe('a', () => {});\ntest.each([[1, 2]])('b', (x) => {\n});\n",
            ["test.describe a", "test.each b"],
        ),
        ("t.test('a', () => {});\nthis.context('b', () => {});\n", []),
    ],
)
def test_a_call_on_any_object_of_a_script_is_no_test(source: str, found: list[str]) -> None:
    assert titles_in(source, "cart.test.js") == found


def test_a_call_without_a_block_is_no_test_in_ruby() -> None:
    source = (
        "context 'a'\nnamespace :b\ntask :c => :d\n"
        "describe 'e' do\n  it 'f' do\n  end\n  page.it 'g' do\n  end\nend\n"
    )
    assert titles_in(source, "cart_spec.rb") == ["describe e", "it f"]
    assert [name for _, name, *_ in outline(source, "Rakefile")] == ["task c => :d", "describe e", "it f"]
