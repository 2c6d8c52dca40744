"""Configuration of the documentation site: Sphinx, which reads the docstrings' NumPy sections and formulas as they are.

`sphinx-build -W docs site` executes tutorials, guides and gallery, and fails at an error or a RuntimeWarning in them;
with `-D nb_execution_mode=off -D plot_gallery=0` it only checks pages and links. See contributing.md.
"""

import os
import re
import subprocess
import sys
import warnings
from itertools import zip_longest
from pathlib import Path

import matplotlib as mpl

from clifford_rand import __version__

mpl.use("agg")
warnings.simplefilter("error", RuntimeWarning)  # in the gallery, which runs in this process
os.environ.setdefault("PYTHONWARNINGS", "error::RuntimeWarning")  # in the processes of the cells
here = Path(__file__).parent

project = "clifford-rand"
author = "The clifford-rand developers"
copyright = "The clifford-rand developers, MIT License"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
templates_path = ["_templates"]
exclude_patterns = [
    "gallery",
    "sg_execution_times.rst",
    "**/sg_execution_times.rst",
    "auto_gallery/*.ipynb",
    "jupyter_execute",
]
smartquotes = False  # --option stays --option
default_role = "py:obj"  # `name` in a docstring is a link where there is such a name

html_theme = "pydata_sphinx_theme"
html_title = "clifford-rand"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_extra_path = ["explorer"]  # explorer.html and algebra.html, pages of their own
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
}

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache", "myst-nb.lexer"]  # the language of cells is known once they were run
nb_execution_mode = "cache"
nb_execution_timeout = 240
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_merge_streams = True

autosummary_generate = True
autodoc_typehints = "none"  # the section Parameters says what they are
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
intersphinx_mapping = {}

sphinx_gallery_conf = {
    "examples_dirs": ["gallery"],
    "gallery_dirs": ["auto_gallery"],
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
}


def write_command_line(app):
    """Write the page of the command line from the program's own help."""
    command = [sys.executable, "-m", "typer", "clifford_rand_nn.cli.app", "utils", "docs", "--name", "clifford-rand"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    page = here / "reference" / "command-line.md"
    text = "# Command line\n" + text.split("\n", 1)[1]
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def escape_text(app, what, name, obj, options, lines):
    """Escape |x| and (*shape) in the text of docstrings, which reStructuredText would take for markup."""
    in_formula = False
    for i, line in enumerate(lines):
        if line.strip().startswith(".. math::"):
            in_formula = True
        elif in_formula and (not line.strip() or line.startswith(" ")):
            continue
        elif not line.strip().startswith((">>>", "...")):
            in_formula = False
            parts = re.split(r"(``.*?``|:math:`.*?`|`.*?`)", line)
            plain = (part.replace("|", r"\|").replace("(*", r"(\*") for part in parts[::2])
            lines[i] = "".join(text for pair in zip_longest(plain, parts[1::2], fillvalue="") for text in pair)


def is_foreign(app, what, name, obj, skip, options):
    """Leave out what classes inherit from other libraries, which document it."""
    return True if not (getattr(obj, "__module__", None) or "clifford_rand").startswith("clifford_rand") else None


def setup(app):
    """Register the functions above."""
    app.connect("builder-inited", write_command_line)
    app.connect("autodoc-skip-member", is_foreign)
    app.connect("autodoc-process-docstring", escape_text, priority=900)
