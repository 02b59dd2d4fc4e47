"""Access to the inside of a session, for tests."""

from app.agent.message_queues import QueueName
from app.engine.session import Session
from app.engine.session_parts import SessionParts
from app.values.content import text_of
from tools.session_workspace import SessionWorkspace


def waiting_texts(session: Session, queue: QueueName) -> tuple[str, ...]:
    return tuple(text_of(message.content) for message in session.queues.queued_messages(queue))


def parts_of(session: Session) -> SessionParts:
    """Returns the wired parts of a session, to test one of them."""
    return session._parts


def workspace_of(session: Session) -> SessionWorkspace:
    """Returns the workspace in which the session's tools run."""
    return session._dependencies.toolbox.workspace
