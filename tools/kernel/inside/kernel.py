"""The Python kernel process: runs cells one after the other in one namespace. Started by
`tools.kernel.kernel_process`, never imported.

It runs in the project's interpreter, from 3.8 on, needs no packages there and installs none. Its messages use a
separate socket (descriptor 0 at the start, then hidden), so that stdout contains only output of cells, libraries
and children. Cells cannot see the modules beside it (`_bayou_…`).
"""
# pyright: basic

import sys

if sys.version_info < (3, 8):
    sys.stderr.write("Python {}.{} is too old: 3.8 is the oldest that works.".format(*sys.version_info[:2]))
    sys.exit(3)

_import_path = list(sys.path)
_standard_library = __import__("os").__file__.rsplit("/", 1)[0]
# Not even PYTHONPATH may replace the modules that are needed here with files of the project.
sys.path[:] = [
    _import_path[0],
    *(one for one in _import_path if one.startswith(_standard_library) and "site-packages" not in one),
]
if not any(one.endswith("lib-dynload") for one in sys.path):
    sys.path += [one for one in _import_path if one.endswith(("lib-dynload", ".zip"))]

import _bayou_cells
import _bayou_link

sys.path[:] = ["", *_import_path[1:]]


def main():
    link = _bayou_link.BayouLink()
    cells = _bayou_cells.CellRunner(link)
    link.interrupts.install_signal_handler()
    link.start()
    link.send(
        {"op": "hello", "version": ".".join(map(str, sys.version_info[:3])), "executable": sys.executable}
    )
    while True:
        order = link.wait_for_next_order()
        if order is None:
            return
        cells.handle_bayou_order(order)


main()
