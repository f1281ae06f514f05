"""xml.etree: its ``TreeBuilder`` keeps the dict that it is given for attributes.

Elements need no adapter: they copy the dict by its methods.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from lazyentity.patches.adapters.calls import CallSeam, before, seams
from lazyentity.search import children_of

SEAMS = (
    # The class stays the same one: XMLPullParser asks for the exact class of its builder.
    CallSeam("xml.etree.ElementTree", "TreeBuilder.start", before, is_flat=True),
    *seams("xml.etree.ElementTree", "tostring", "tostringlist", "ElementTree.write", look=before),
)


@children_of.register
def _attributes_within(element: ElementTree.Element) -> Iterable[Any]:
    # All elements at once: another thread may change the tree. Not by a method of the application.
    return [each.attrib for each in list(ElementTree.Element.iter(element))]


@children_of.register
def _attributes_of_tree(tree: ElementTree.ElementTree) -> Iterable[Any]:
    root = tree.getroot()
    return () if root is None else _attributes_within(root)
