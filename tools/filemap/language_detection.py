"""Detects the programming language of a file: by its name, otherwise by its first line, otherwise by its content."""

import re
from pathlib import PurePath

from tools.lazy_patterns import lazy_regex

_FILE_SUFFIXES_BY_LANGUAGE_TEXT = """
python: py pyw pyi pyx pxd wsgi bzl star
javascript: js mjs cjs es6 jsm
jsx: jsx
typescript: ts mts cts
tsx: tsx
go: go
rust: rs
c: c
cpp: cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp ino
cuda: cu cuh
objc: m
objcpp: mm
java: java
kotlin: kt kts
scala: scala sc sbt
csharp: cs csx
swift: swift
ruby: rb rake gemspec ru podspec rbi jbuilder
php: php phtml php5 php7 php8 inc
lua: lua rockspec
perl: pl pm t perl psgi
r: r rprofile rraw
julia: jl
haskell: hs
ocaml: ml
ocaml_interface: mli
elixir: ex exs
erlang: erl hrl escript
clojure: clj cljs cljc edn bb
elm: elm
zig: zig zon
dart: dart
bash: sh bash zsh ksh bats ebuild
powershell: ps1 psm1 psd1
sql: sql ddl dml pgsql mysql plsql pls
html: html htm xhtml
css: css
scss: scss
vue: vue
svelte: svelte
json: json jsonc json5 geojson webmanifest har avsc topojson ipynb-checkpoint code-workspace
jsonl: jsonl ndjson jsonlines
yaml: yaml yml
toml: toml
xml: xml xsd xsl xslt svg plist csproj vbproj fsproj props targets wsdl rss atom kml gpx xaml resx storyboard xib pom
csv: csv
tsv: tsv tab
markdown: md markdown mdx mkd mdown qmd rmd
rst: rst rest
latex: tex sty cls ltx dtx ins
asciidoc: adoc asciidoc asc
gherkin: feature
dockerfile: dockerfile containerfile
make: mk mak make
cmake: cmake
hcl: tf tfvars hcl nomad
proto: proto
graphql: graphql gql graphqls
solidity: sol
verilog: v sv svh vh
vhdl: vhd vhdl
fortran: f f90 f95 f03 f08 for f77 ftn
asm: s asm nasm
ini: ini cfg conf properties env editorconfig desktop service timer socket gitconfig cnf
diff: diff patch rej
log: log
jupyter: ipynb
"""

_FILE_NAMES_BY_LANGUAGE_TEXT = """
dockerfile: dockerfile containerfile
make: makefile gnumakefile bsdmakefile makefile.am makefile.in
cmake: cmakelists.txt
ruby: rakefile gemfile guardfile vagrantfile capfile podfile fastfile brewfile
python: sconstruct sconscript wscript build workspace build.bazel workspace.bazel
bash: .bashrc .bash_profile .profile .zshrc .zshenv .bash_aliases pkgbuild apkbuild
json: .prettierrc .eslintrc .babelrc composer.lock pipfile.lock flake.lock .swcrc
toml: cargo.lock poetry.lock uv.lock pipfile pdm.lock
yaml: .clang-format .clang-tidy pubspec.lock yarn.lock-berry
ini: .gitconfig .editorconfig .npmrc .pylintrc .flake8 .coveragerc .env .env.local
ini: .env.development .env.production .env.test
perl: cpanfile
r: .rprofile
markdown: readme changelog
"""

_INTERPRETERS_BY_LANGUAGE_TEXT = """
python: python python2 python3 pypy pypy3 uv
bash: sh bash zsh dash ksh ash bats
javascript: node nodejs bun
typescript: deno ts-node tsx
ruby: ruby jruby rake
perl: perl
php: php
lua: lua luajit texlua
r: rscript
julia: julia
elixir: elixir
erlang: escript
scala: scala amm
kotlin: kotlin
clojure: bb clojure
powershell: pwsh powershell
make: make
swift: swift
haskell: runhaskell runghc
ocaml: ocaml
dart: dart
groovy: groovy
"""


def _parse_language_table(text: str) -> dict[str, str]:
    table: dict[str, str] = {}
    for line in text.strip().splitlines():
        language, _, names = line.partition(":")
        for name in names.split():
            table[name] = language
    return table


_LANGUAGE_BY_SUFFIX, _LANGUAGE_BY_FILE_NAME, _LANGUAGE_BY_INTERPRETER = (
    _parse_language_table(_FILE_SUFFIXES_BY_LANGUAGE_TEXT),
    _parse_language_table(_FILE_NAMES_BY_LANGUAGE_TEXT),
    _parse_language_table(_INTERPRETERS_BY_LANGUAGE_TEXT),
)
_SHEBANG_PATTERN = lazy_regex(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([\w.+-]+)")
_EDITOR_MODELINE_PATTERN = lazy_regex(
    rb"-\*-\s*(?:mode:\s*)?([\w+-]+)\s*(?:;.*)?-\*-|\b(?:vim?|ex):.*?\b(?:ft|filetype)=(\w+)", re.I
)
_LANGUAGE_BY_MODELINE_WORD = {
    "shell-script": "bash",
    "sh": "bash",
    "c++": "cpp",
    "js": "javascript",
    "makefile": "make",
    "tex": "latex",
}
_OBJECTIVE_C_PATTERN = lazy_regex(
    rb"^\s*(?:@interface|@implementation|@protocol|@property|@end|#import)\b", re.M
)
_CPLUSPLUS_PATTERN = lazy_regex(
    rb"^\s*(?:namespace\b|template\s*<|class\s+\w+[^;]*[:{]|using\s+\w|public:|private:|protected:)"
    rb"|\b(?:std|boost|absl)::|\bconstexpr\b|\bnullptr\b|^#include\s*<(?:string|vector|map|memory|iostream)>",
    re.M,
)
_PREPROCESSOR_PATTERN = lazy_regex(rb"^[ \t]*#[ \t]*(?:include|define|if|ifdef|ifndef|undef)\b", re.M)
_JSON_VALUE_REGEX = rb"(?:\"[^\"\n]*\"\s*[,:\]]|[\]}]|-?\d|(?:true|false|null)\b)"
_LANGUAGE_CONTENT_PATTERNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("xml", lazy_regex(rb"\s*<\?xml\b")),
    ("html", lazy_regex(rb"\s*(?:<!doctype\s+html|<html\b)", re.I)),
    ("php", lazy_regex(rb"\s*<\?php\b")),
    ("diff", lazy_regex(rb"(?:diff --git |--- \S.*\n\+\+\+ |Index: \S+\n=+\n|From [0-9a-f]{40} )")),
    (
        "json",
        lazy_regex(
            rb"\s*[\[{]\s*(?:" + _JSON_VALUE_REGEX + rb"|[\[{]\s*(?:" + _JSON_VALUE_REGEX + rb"|[\[{]))"
        ),
    ),
    ("latex", lazy_regex(rb"(?:\s*%.*\n)*\s*\\documentclass")),
    ("yaml", lazy_regex(rb"(?:%YAML.*\n)?---\s*\n\s*[\w\"'-]+:(?:\s|$)")),
    ("ini", lazy_regex(rb"(?:\s*[#;].*\n)*\s*\[[^\]\n]+\]\s*\n(?:\s*[#;].*\n)*\s*[\w.-]+\s*=")),
)


def detect_language(path: PurePath, source: bytes) -> str | None:
    """Returns the name of a file's programming language, or None if unknown. `source` may be only the beginning."""
    name = path.name.lower()
    known = _LANGUAGE_BY_FILE_NAME.get(name) or _detect_by_suffix(name)
    head = source[:4096]
    if known is None or (known == "ini" and head.startswith(b"#!")):
        return _detect_by_first_lines(head) or known or _detect_by_content(head)
    return _refine_language_by_content(known, name, head, source[:65536])


def _detect_by_suffix(name: str) -> str | None:
    stem, dot, suffix = name.rpartition(".")
    if not dot:
        return None
    if suffix in ("in", "tmpl", "template", "orig", "bak", "dist", "example", "sample", "j2", "erb"):
        return _detect_by_suffix(stem) if "." in stem else _LANGUAGE_BY_FILE_NAME.get(stem)
    if suffix == "h":
        return "h"
    if stem in ("dockerfile", "containerfile"):
        return "dockerfile"
    if suffix == "log" or (re.fullmatch(r"\d+", suffix) and stem.endswith(".log")):
        return "log"
    return _LANGUAGE_BY_SUFFIX.get(suffix)


def _refine_language_by_content(known: str, name: str, head: bytes, more: bytes) -> str:
    """Decides by content between languages that share a suffix."""
    if known == "h":
        if _OBJECTIVE_C_PATTERN.search(more):
            return "objc"
        return "cpp" if _CPLUSPLUS_PATTERN.search(more) else "c"
    if name.endswith(".m") and not _OBJECTIVE_C_PATTERN.search(more):
        return "matlab" if re.search(rb"^\s*(?:function\b|%|classdef\b)", more, re.M) else "objc"
    if name.endswith(".v") and re.search(
        rb"^\s*(?:Require|Theorem|Lemma|Inductive|Definition)\b", more, re.M
    ):
        return "coq"
    if (
        name.endswith(".pl")
        and re.search(rb"^:-\s|^\w+\(.*\)\s*:-", head, re.M)
        and b"use strict" not in more
    ):
        return "prolog"
    if name.endswith(".inc") and b"<?" not in more:
        return (
            "cpp"
            if _CPLUSPLUS_PATTERN.search(more)
            else "c"
            if _PREPROCESSOR_PATTERN.search(more)
            else "text"
        )
    if known == "typescript" and head.lstrip().startswith(b"<?xml"):
        return "xml"
    if name.endswith(".t") and not re.search(rb"\b(?:use|my|sub|Test::)\b", more):
        return "text"
    return known


def _detect_by_first_lines(head: bytes) -> str | None:
    shebang = _SHEBANG_PATTERN.match(head)
    if shebang is not None:
        word = shebang.group(1).decode("ascii", "replace").lower()
        found = _LANGUAGE_BY_INTERPRETER.get(word) or _LANGUAGE_BY_INTERPRETER.get(word.rstrip("0123456789."))
        if found is not None:
            return found
    lines = head.split(b"\n", 3)[:3]
    for line in lines:
        mode = _EDITOR_MODELINE_PATTERN.search(line[:300])
        if mode is not None:
            word = (mode.group(1) or mode.group(2)).decode("ascii", "replace").lower()
            word = _LANGUAGE_BY_MODELINE_WORD.get(word, word)
            if word in set(_LANGUAGE_BY_SUFFIX.values()):
                return word
    return None


def _detect_by_content(head: bytes) -> str | None:
    for language, pattern in _LANGUAGE_CONTENT_PATTERNS:
        if pattern.match(head):
            if language == "json" and _is_json_lines(head):
                return "jsonl"
            return language
    return None


def _is_json_lines(head: bytes) -> bool:
    lines = head.split(b"\n")
    return len(lines) > 2 and all(
        line.startswith(b"{") and line.rstrip().endswith(b"}") for line in lines[:2]
    )
