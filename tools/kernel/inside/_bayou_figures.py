"""A back-end of matplotlib that needs no display: figures are pictures under their cell."""
# pyright: basic

import _bayou_shown
from matplotlib.backend_bases import FigureManagerBase, _Backend  # pyright: ignore[reportMissingImports]
from matplotlib.backends.backend_agg import FigureCanvasAgg  # pyright: ignore[reportMissingImports]

FigureCanvas = FigureCanvasAgg
FigureManager = FigureManagerBase


def show(*values, **named):
    for shown in _bayou_shown.showing:
        shown.figures()


@_Backend.export
class _BackendBayou(_Backend):
    FigureCanvas = FigureCanvasAgg
    FigureManager = FigureManagerBase
    show = staticmethod(show)
