"""Lists what a session began with, one line each, for `--verbose`."""

from app.assembly.assembled_session import AssembledSession
from app.extensions.extension_runner import Extensions


def startup_summary(assembled: AssembledSession, extensions: Extensions) -> str:
    session, prompt = assembled.session, assembled.prompt
    state = session.state
    rows = {
        "model": [state.model.key if state.model else "none"],
        "thinking": [state.thinking],
        "session": [str(state.file or "not saved")],
        "trusted": ["yes" if assembled.project_trust.decision.is_trusted else "no"],
        "tools": list(session.tools.active_tools()),
        "context files": [str(file.path) for file in prompt.context_files.files],
        "skills": [skill.name for skill in prompt.skills.skills],
        "extensions": [extension.name for extension in extensions.hooks.loaded],
    }
    return "\n".join(f"{name}: {', '.join(values) or 'none'}" for name, values in rows.items())
