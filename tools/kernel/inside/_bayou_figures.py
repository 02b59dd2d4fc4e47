"""A matplotlib backend without a display: figures appear as pictures under their cell."""
# pyright: basic

import _bayou_shown
from matplotlib.backend_bases import FigureManagerBase  # pyright: ignore[reportMissingImports]
from matplotlib.backends.backend_agg import FigureCanvasAgg  # pyright: ignore[reportMissingImports]


class CellFigures(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block=None):
        for shown in _bayou_shown.current_displays:
            shown.display_figures()


class FigureCanvas(FigureCanvasAgg):
    manager_class = CellFigures
