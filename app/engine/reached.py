"""Parts of a session that the full screen still reaches into; they go when it has verbs for all of that."""

from app.engine.machinery import Machinery, Parts


class Reached:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._made = made = Machinery(parts)
        self.options = parts.options
        self.in_force = parts.options.in_force
        self.places = parts.places
        self.choice = parts.choice
        self.toolbox = parts.toolbox
        self.intake = parts.hooks
        self.conversation = made.conversation
        self.queues = made.queues
        self.account = made.account
        self.requests = made.requests
        self.compactor = made.compactor
        self.brancher = made.brancher
        self.summariser = made.summariser
        self.shell = made.shell
        self.jobs = made.jobs
        self.runner = made.runner

    @property
    def is_compacting(self) -> bool:
        return self._made.readiness.is_compacting
