"""The documentation as a site: `pip install -e '.[docs]' && sphinx-build -W --keep-going docs SITE`.

Pages are Markdown (MyST), the reference is made of docstrings. Without a network the site is the same, but for links from
signatures to Python, NumPy and SciPy. Links to other sites are checked by `sphinx-build -b linkcheck docs SITE`.
"""

import logging
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

sys.path.insert(0, str(Path(__file__).parent))
from docstrings import as_rst

import autodiff

project, author, copyright = "autodiff", "the authors of autodiff", "the authors of autodiff"
release = version = autodiff.__version__
html_title = f"autodiff {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.intersphinx"]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
suppress_warnings = ["misc.highlighting_failure"]   # outputs of programs that print more than Python
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
smartquotes = False                                 # texts in quotes are Python's
html_show_sourcelink = html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "monokai"

myst_heading_anchors = 4                            # as GitHub makes them; a link to what is not there is a warning
myst_links_external_new_tab = False

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 90
autodoc_mock_imports = [name for name in ("cyipopt", "dask", "jax", "pytensor", "torch") if find_spec(name) is None]

intersphinx_timeout = 10
intersphinx_mapping = {"python": ("https://docs.python.org/3", None), "numpy": ("https://numpy.org/doc/stable", None),
                       "scipy": ("https://docs.scipy.org/doc/scipy", None)}
linkcheck_timeout, linkcheck_retries = 20, 2
linkcheck_anchors = False                           # pages that are put together by scripts have none to find
PROGRAM = r"""\g<0>

<details><summary>The program</summary>

```{literalinclude} ../examples/\1.py
```

</details>"""


class Outputs(SphinxTransform):
    """A block under `<!-- output -->` is what the program above it printed: the class `output` says so to the style."""

    default_priority = 400

    def apply(self, **options):
        for comment in self.document.findall(nodes.raw):
            block = comment.next_node(descend=False, siblings=True)
            if comment.astext().strip() == "<!-- output -->" and isinstance(block, nodes.literal_block):
                block["classes"].append("output")


class Titles(SphinxTransform):
    """A link whose text is the name of a page, as texts read on their own have it, shows that page's title here."""

    default_priority = 401

    def apply(self, **options):
        for link in self.document.findall(addnodes.pending_xref):
            if link.get("reftype") == "myst" and link.astext().endswith(".md") and "#" not in link["reftarget"]:
                link["refexplicit"] = False
                link.clear()


def with_programs(app, name, source):
    """The gallery of the site has each example's program under its figure."""
    if name == "gallery":
        source[0] = re.sub(r"^!\[.*\]\(gallery/(\w+)\.png\)$", PROGRAM, source[0], flags=re.MULTILINE)


def readable(app, what, name, member, options, lines):
    lines[:] = as_rst(lines)


def unreachable_is_no_error(record: logging.LogRecord) -> bool:
    """Inventories of other sites are a convenience: without a network the build goes on, and says so."""
    if "inventories" in str(record.msg):
        record.levelno, record.levelname = logging.INFO, "INFO"
    return True


def setup(app):
    app.add_transform(Outputs)
    app.add_transform(Titles)
    app.connect("source-read", with_programs)
    app.connect("autodoc-process-docstring", readable)
    for name in ("sphinx.sphinx.ext.intersphinx", "sphinx.sphinx.ext.intersphinx._load"):
        logging.getLogger(name).addFilter(unreachable_is_no_error)
