"""Sphinx settings; ``make docs`` builds without a network."""

from __future__ import annotations

import sys
from pathlib import Path

from gramian import __version__

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]  # examples of the gallery import made_up_english

import command_pages  # noqa: E402
import glossary_pages  # noqa: E402
from reference_pages import write  # noqa: E402

write(HERE / "python")
glossary_pages.write(HERE / "reference" / "labels.md")
command_pages.write(HERE / "reference" / "command-line.md")

project = "gramian"
author = "The gramian authors"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/*.ipynb", "gallery/*.zip", "gallery/*.py"]
myst_enable_extensions = ["deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"gramian {__version__}"
html_static_path = ["_static"]
html_css_files = ["narrow.css"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {
    "exclude-members": "get_metadata_routing, set_fit_request, set_score_request, set_predict_request"
}
suppress_warnings = ["ref.python"]  # words in types, such as shape, that are also names of attributes
napoleon_google_docstring = False
napoleon_use_rtype = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(demo|made_up_english|extract_automata)\.py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1000,
    "write_computation_times": False,
}
