"""The configuration of Sphinx; ``make docs`` builds with it."""

from lazyentity import __version__

project = "lazyentity"
release = __version__
# Quotation marks of code are often outside of literals, in tables of figures for one.
smartquotes = False
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosectionlabel", "sphinx.ext.napoleon"]
# For contributors, who read them in the repository.
exclude_patterns = ["internals"]

# Links name the page and the heading. A heading that a page has twice is no target of a link.
autosectionlabel_prefix_document = True
suppress_warnings = ["autosectionlabel.*"]

html_theme = "furo"
html_title = f"lazyentity {release}"
html_show_copyright = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["tables.css"]

autodoc_member_order = "bysource"
# The docstrings say what each argument takes.
autodoc_typehints = "signature"
