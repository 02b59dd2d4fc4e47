"""Collects all language descriptions for maps of files by name. `tools.filemap.language_detection` detects the
language of a file."""

from functools import lru_cache

from tools.filemap.language_description import LanguageDescription


@lru_cache(maxsize=1)
def _languages_by_name() -> dict[str, LanguageDescription]:
    from tools.filemap.languages import (  # noqa: PLC0415  (they need the engine's types, which need this module)
        build_languages,
        cfamily,
        dotnet,
        ecmascript,
        functional,
        jvm,
        markup,
        objc,
        python,
        schemas,
        scientific,
        scripting,
        systems,
    )

    groups = (
        python, ecmascript, systems, cfamily, objc, jvm, dotnet, scripting, functional, scientific, markup,
        build_languages, schemas,
    )  # fmt: skip
    return {language.name: language for group in groups for language in group.LANGUAGE_DESCRIPTIONS}


def language_named(name: str) -> LanguageDescription:
    return _languages_by_name()[name]


def has_language_description(name: str) -> bool:
    return name in _languages_by_name()


def described_language_names() -> list[str]:
    return sorted(_languages_by_name())
