"""The six real sets of the paper, read from where their users get them."""

from examples.paper.datasets.amazon import load_amazon_polarity
from examples.paper.datasets.glue import load_cola, load_qqp
from examples.paper.datasets.imdb import load_imdb
from examples.paper.datasets.labelled import LabelledArrays, LabelledTexts
from examples.paper.datasets.mnist import load_mnist
from examples.paper.datasets.ptbxl import load_ptbxl_reports
from examples.paper.datasets.ptbxl_signals import load_ptbxl_signals

__all__ = [
    "LabelledArrays",
    "LabelledTexts",
    "load_amazon_polarity",
    "load_cola",
    "load_imdb",
    "load_mnist",
    "load_ptbxl_reports",
    "load_ptbxl_signals",
    "load_qqp",
]
