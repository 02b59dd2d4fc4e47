"""`--verbose`: what a session began with, one line each."""

from app.assembly.build import Assembled
from app.extensions.runner import Extensions


def summary(assembled: Assembled, extensions: Extensions) -> str:
    session, prompt = assembled.session, assembled.prompt
    model = session.choice.model
    rows = {
        "model": [model.key if model else "none"],
        "thinking": [session.choice.thinking],
        "session": [str(session.log.path or "kept nowhere")],
        "trusted": ["yes" if assembled.trust.is_trusted else "no"],
        "tools": list(session.toolbox.active()),
        "context files": [str(file.path) for file in prompt.context_files.files],
        "skills": [skill.name for skill in prompt.skills.skills],
        "extensions": [extension.name for extension in extensions.loaded],
    }
    return "\n".join(f"{name}: {', '.join(values) or 'none'}" for name, values in rows.items())
