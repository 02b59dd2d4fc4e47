"""One family of errors has words for the person; everything else that is raised is a fault, or a signal inside."""

import ast

from tests.architecture.sources import classes, files, name

OF_A_MODULE_FOR_ITSELF = {
    "app/agent/abort_signal.py:Aborted": "the end of a wait that was stopped",
    "app/agent/agent_loop.py:NothingToContinue": "a fault: the loop was asked to go on from an answer",
    "app/extensions/time_limits.py:ExtensionTimeLimitExceeded": "a limit of foreign code, told as its failure",
    "app/extensions/time_limits.py:_BlockingCodeInterrupted": "raised into foreign code that does not let go",
    "app/extensions/extension_registrations.py:StaleExtension": "a fault of an extension, reported to its author",
    "app/extensions/extension_registrations.py:NotReady": "as above",
    "app/extensions/hooks/hook_table.py:InvalidHookAnswer": "as above; its hook says what counts instead",
    "app/package/bayou/batch.py:BatchFailed": "of the package in another program: why the batch was not run",
    "app/package/bayou/connection.py:RpcError": "of the client in another program: what the server answered",
    "app/modes/acp/request_errors.py:AcpRequestError": "of a request over ACP: the answer has its code and words",
    "app/modes/line_reader.py:LineTooLong": "a line that cannot be read; its answer has the words",
    "app/providers/errors.py:ProviderError": "becomes the answer's terminal event",
    "app/providers/stream/paced_sender.py:ScriptedStreamBreak": "how a script breaks off",
    "app/resources/rules/rule_patterns.py:RulePatternTooSlow": "a pattern that takes too long; its rule is reported",
    "app/resources/trust/content_fingerprint.py:ContentTooLargeToHash": "more than can be read; the question says so",
    "app/sessions/index/line_reader.py:SessionFileRewritten": "the file is another than it was: it is read again",
    "app/values/json_comments.py:_NonJsonConstant": "becomes a JsonFault with its place",
}
"""Exceptions of `app` outside of the family, and what becomes of each."""


def test_exceptions_of_app_are_of_the_family_or_have_a_reason() -> None:
    all_: list[tuple[str, str, list[str]]] = []
    for path in files("app"):
        for node in classes(path):
            bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
            all_.append((node.name, f"{name(path)}:{node.name}", bases))
    bases_of = {each: bases for each, _, bases in all_}

    def roots(bases: list[str]) -> set[str]:
        return set(bases).union(*(roots(bases_of.get(base, [])) for base in bases))

    outside = {
        place
        for _, place, bases in all_
        if "UserError" not in roots(bases) and any(map(_is_raised, roots(bases)))
    }
    assert outside - {"app/values/user_errors.py:UserError"} == set(OF_A_MODULE_FOR_ITSELF)


def _is_raised(name: str) -> bool:
    import builtins

    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
