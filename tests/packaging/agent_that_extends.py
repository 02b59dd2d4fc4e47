"""A model that does what the skill for extending bayou says: finds it in the prompt, reads it, writes its files."""

import re

from app.providers.scripted import ScriptedModel, call, say
from app.values.messages import UserMessage
from bayou import ExtensionApi, ProviderSpec, ToolResultMessage, text_of

CODE = re.compile(r"```(?:python|json)\n(?:#|//) (\S+)\n(.*?)```", re.DOTALL)


def answer(context, count):
    results = [text_of(one.content) for one in context.messages if isinstance(one, ToolResultMessage)]
    if not results:
        skill = re.search(r"<location>(\S*/extending-bayou/SKILL.md)</location>", context.system_prompt)
        assert skill is not None, "the prompt names the skill"
        return call("bash", command=f"cat {skill[1]}")
    if len(results) > 1:
        return say(f"I wrote {sum('Successfully' in text for text in results[1:])} files.")
    asked = next(text_of(one.content) for one in context.messages if isinstance(one, UserMessage))
    folder = asked.split()[-1]
    writes = [call("write", path=f"{folder}/{name}", content=text) for name, text in CODE.findall(results[0])]
    return sum(writes[1:], writes[0])


def extension(api: ExtensionApi) -> None:
    script = ScriptedModel([answer] * 5)
    spec = ProviderSpec(name="scripted", models=(script.model,), adapter=script.adapter, api_key="none")
    api.register_provider(spec)
