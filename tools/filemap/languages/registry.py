"""Collects all language descriptions for maps of files by name. `detection` detects the language of a file."""

from functools import lru_cache

from tools.filemap.language_description import Language


@lru_cache(maxsize=1)
def _all_languages() -> dict[str, Language]:
    from tools.filemap.languages import (  # noqa: PLC0415  (they need the engine's types, which need this module)
        building,
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
        python, ecmascript, systems, cfamily, objc, jvm, dotnet, scripting, functional, scientific, markup, building,
        schemas,
    )  # fmt: skip
    return {language.name: language for group in groups for language in group.LANGUAGES}


def language_named(name: str) -> Language:
    return _all_languages()[name]


def has_description(name: str) -> bool:
    return name in _all_languages()


def language_names() -> list[str]:
    return sorted(_all_languages())
