"""Runs Python cells inside the kernel: one namespace, an event loop that persists between cells, output through the
system's descriptors."""
# pyright: basic

import ast
import builtins
import io
import os
import sys
import time
from types import ModuleType

import _bayou_errors
import _bayou_names
import _bayou_shown
import _bayou_tools

_COROUTINE_CODE_FLAG = 0x80  # inspect.CO_COROUTINE
_AUDIT_EVENTS_OF_CHILD_START = frozenset(
    (
        "subprocess.Popen",
        "os.system",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.exec",
        "os.spawn",
        "pty.spawn",
    )
)
_CALLS_THAT_NEED_EVENT_LOOP = ("create_task", "ensure_future", "get_running_loop")
"""The names of asyncio functions by which code uses the event loop without an `await` at the top level."""
_NO_STDIN_MESSAGE = "Kernel requested stdin; interactive input is not supported."


class StdinThatRefusesInput(io.TextIOBase):
    """A standard input for cells that raises an error, because no user can answer."""

    name = "<stdin>"
    encoding = "utf-8"
    errors = "strict"

    def readable(self):
        return True

    def fileno(self):
        return 0

    def close(self):
        """Does nothing: `exit()` closes the standard input, which the next cell still needs."""

    def read(self, size=-1):
        raise RuntimeError(_NO_STDIN_MESSAGE)

    readline = read


class CellRunner:
    def __init__(self, link):
        self._link = link
        self._count = 0
        self._loop = None
        self._kept = set()
        self._descriptors = tuple(_set_not_inheritable(os.dup(number)) for number in (1, 2))
        self._input = StdinThatRefusesInput()
        self._output = self._reopen_output()
        self._shown = _bayou_shown.ValueDisplay(link, self._flush)
        self._tools = _bayou_tools.CallableTools(link, self._flush)
        self._space = ModuleType("__main__", "What cells define.")
        names = vars(self._space)
        names["__builtins__"] = builtins
        names.update(tool=self._tools, display=self._shown.display, artifact=self._tools.artifact)
        self._given = {name: names[name] for name in ("tool", "display", "artifact")}
        sys.modules["__main__"] = self._space
        sys.argv[:] = [""]
        self._errors = _bayou_errors.CellErrorFormatter(os.path.dirname(os.path.abspath(__file__)))
        sys.addaudithook(self._audit_hook)
        sys.meta_path.insert(0, _bayou_shown.FiguresBackendFinder(self._shown))

    def handle_bayou_order(self, order):
        if order["op"] == "run":
            self._link.send(self.run(order))
        elif order["op"] == "names":
            names = _bayou_names.list_kernel_names(vars(self._space), self._given)
            self._link.send({"op": "told", "id": order["id"], "names": names})
        elif order["op"] == "complete":
            names = _bayou_names.complete_kernel_name(vars(self._space), order["text"])
            self._link.send({"op": "told", "id": order["id"], "names": names})

    def run(self, order):
        """Runs one Python cell and reports its value or error to bayou."""
        self._count += 1
        self._reset_environment(order)
        file = f"<cell {self._count}>"
        self._errors.register_cell_source(file, order["code"])
        interrupts = self._link.interrupts
        interrupts.install_signal_handler()
        folder = value = problem = None
        started = time.perf_counter()
        try:
            try:
                interrupts.is_open = True
                if self._link.unwanted == order["id"]:
                    raise KeyboardInterrupt
                folder = self._enter_folder(order.get("cwd"))
                value = self._execute(order["code"], file)
            finally:
                interrupts.is_open = False
        except BaseException as caught:  # noqa: BLE001  (a cell may raise anything)
            problem = caught
        seconds = time.perf_counter() - started
        if self._link.is_child:
            self._exit_child(problem)
        notes = [*self._shown.take_display_notes(), *self._cancel_unheld_tasks()]
        told = self._errors.format_cell_error(problem) if problem is not None else None
        del problem
        self._leave_folder(folder)
        self._flush()
        return {
            "op": "done",
            "id": order["id"],
            "number": self._count,
            "value": value,
            "error": told,
            "notes": notes,
            "seconds": seconds,
        }

    def _execute(self, code, file):
        """Executes the code of a cell and returns the text of the last expression's value, if it has one to show."""
        tree = compile(code, file, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        value = None
        for part, mode in ((tree, "exec"), (last, "eval")):
            if part is None or (mode == "exec" and not part.body):
                continue
            compiled = compile(part, file, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
            if compiled.co_flags & _COROUTINE_CODE_FLAG:
                value = self._run_coroutine(eval(compiled, vars(self._space)))
            elif any(word in code for word in _CALLS_THAT_NEED_EVENT_LOOP):
                value = self._run_coroutine(self._run_in_loop(compiled))
            else:
                value = eval(compiled, vars(self._space))
        if last is None or value is None or code.rstrip().endswith(";"):
            self._shown.display_figures()
            return None
        vars(builtins)["_"] = value  # pyright: ignore[reportIndexIssue]  (as an interactive interpreter has it)
        text = self._shown.value_text(value)
        self._shown.display_figures()
        return text

    async def _run_in_loop(self, compiled):
        return eval(compiled, vars(self._space))

    def _run_coroutine(self, coroutine):
        import asyncio  # noqa: PLC0415  (half of what a kernel would cost to start)

        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        main = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(main)
        except BaseException:
            if not main.done():
                main.cancel()
                self._loop.run_until_complete(asyncio.gather(main, return_exceptions=True))
            raise

    def _cancel_unheld_tasks(self):
        """Cancels the asyncio tasks that a cell started and that no name refers to, at the end of the cell."""
        if self._loop is None or self._loop.is_closed():
            return []
        asyncio = sys.modules["asyncio"]
        try:
            running = [task for task in asyncio.all_tasks(self._loop) if not task.done()]
            named = _bayou_names.find_tasks_in_value(vars(self._space).values(), running)
            left = [task for task in running if task not in named]
            for task in left:
                task.cancel()
            if left:
                self._loop.run_until_complete(asyncio.wait(left, timeout=0.5))
        except BaseException as problem:  # noqa: BLE001  (the tasks of a cell may raise anything)
            return [f"Tasks that were left running could not be ended: {problem!r}"]
        told = []
        if left:
            who, them = ("A task", "it") if len(left) == 1 else (f"{len(left)} tasks", "them")
            told.append(f"{who} still ran at the end of the cell, held by no name: bayou cancelled {them}.")
        if named:
            told.append(
                f"Still to run, in cells that await: {len(named)} task{'' if len(named) == 1 else 's'}."
            )
        return told

    # State that a cell may have left behind

    def _reset_environment(self, order):
        for number, kept in zip((1, 2), self._descriptors):
            os.dup2(kept, number)
        if self._output.closed:
            self._output = self._reopen_output()
        sys.stdout = sys.stderr = self._output
        sys.stdin = self._input
        self._shown.begin_cell()
        self._tools.set_tools(order.get("tools") or {})
        names = vars(self._space)
        for name, given in self._given.items():
            names.setdefault(name, given)

    def _reopen_output(self):
        sys.stdout = sys.stderr = opened = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(1, "w", closefd=False), 1 << 16),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        return opened

    def _flush(self):
        try:
            self._output.flush()
        except (OSError, ValueError):
            pass  # The cell closed it; the next cell gets a new one.

    def _audit_hook(self, event, arguments):
        if event in _AUDIT_EVENTS_OF_CHILD_START:
            self._flush()  # Earlier output of the cell must precede the output of the child.

    def _enter_folder(self, folder):
        """Changes the working folder for one cell, and returns the previous one."""
        if not folder:
            return None
        before = os.getcwd()
        os.chdir(folder)
        return before, os.getcwd()

    def _leave_folder(self, folders):
        """Returns to the previous working folder after a cell, unless the cell itself changed the folder."""
        try:
            if folders is not None and os.getcwd() == folders[1]:
                os.chdir(folders[0])
        except OSError:
            pass  # The folder is gone.

    def _exit_child(self, problem):
        """Ends a process that a cell forked and that reached the end of the cell."""
        self._flush()
        os._exit(0 if problem is None else 1)


def _set_not_inheritable(descriptor):
    os.set_inheritable(descriptor, False)
    return descriptor
