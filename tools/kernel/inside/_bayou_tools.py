"""Lets cells call the agent's tools: `tool.read(path=…)`, `await tool.aio.bash(…)`. bayou executes the calls."""
# pyright: basic


class ToolFailed(Exception):
    """Raised in a cell if the tool that it called returns an error."""


class ToolText(str):
    """The text of a tool result as a string for cells, with the result's `details`."""

    details = None


class CallableTools:
    def __init__(self, link, flush):
        self._link = link
        self._flush = flush
        self._parameters = {}
        self.aio = AsyncTools(self)
        self.ToolFailed = ToolFailed

    def set_tools(self, parameters):
        """Sets the tools that cells can call, with the names of their parameters."""
        self._parameters = parameters

    def __dir__(self):
        return [*self._parameters, "aio", "ToolFailed"]

    def __repr__(self):
        return f"<tools: {', '.join(self._parameters)}>"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *values, **named: self._call(name, values, named)

    def _call(self, name, values, named):
        waiting = self._link.ask(self._call_order(name, values, named))
        try:
            answer = waiting.wait()
        except BaseException:
            self._link.cancel_pending_answer(waiting)
            raise
        return _tool_result(answer)

    def _call_order(self, name, values, named):
        self._flush()
        known = self._parameters.get(name, [])
        if len(values) > len(known):
            raise TypeError(f"{name} takes {', '.join(known) or 'arguments by name'}")
        for parameter in known[: len(values)]:
            if parameter in named:
                raise TypeError(f"{name} got two values for {parameter}")
        return {"op": "call", "name": name, "arguments": {**dict(zip(known, values)), **named}}

    def artifact(self, number):
        """Returns the whole text of a truncated result: `artifact(3)`."""
        answer = self._link.ask({"op": "artifact", "number": str(number)}).wait()
        if answer.get("error"):
            raise ToolFailed(answer["error"])
        return answer["text"]


class AsyncTools:
    """The awaitable variant of the callable tools, for several calls at once."""

    def __init__(self, tools):
        self._tools = tools

    def __dir__(self):
        return list(self._tools._parameters)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        async def call(*values, **named):
            import asyncio  # noqa: PLC0415  (a caller that awaits has loaded it)

            tools, loop = self._tools, asyncio.get_running_loop()
            answered = loop.create_future()

            def settle(answer):
                if not answered.done():
                    answered.set_result(answer)

            def heard(answer):
                try:
                    loop.call_soon_threadsafe(settle, answer)
                except RuntimeError:
                    pass  # The loop is closed: no task waits for the answer.

            waiting = tools._link.ask(tools._call_order(name, values, named), heard)
            try:
                answer = await answered
            except BaseException:
                tools._link.cancel_pending_answer(waiting)
                raise
            return _tool_result(answer)

        return call


def _tool_result(answer):
    if answer.get("error") is not None:
        raise ToolFailed(answer["error"])
    text = ToolText(answer.get("text", ""))
    text.details = answer.get("details")
    return text
