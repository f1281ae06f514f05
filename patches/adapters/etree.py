"""xml.etree: keeps the dict that it is given for attributes, or the sentinels in it."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

from lazyentity.decoding import held_by
from lazyentity.patches.adapters.calls import before, call_decoded, seam, seams, subclass


def _new_child(_: Any, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the attributes, and not into the parent: it may be a large tree."""
    return call_decoded(functools.partial(wrapped, *args[:1]), args[1:], kwargs)


SEAMS = (
    # Not Element: a proxy of a class is no class to pickle, match and type().
    seam("xml.etree.ElementTree", "SubElement", _new_child),
    subclass("xml.etree.ElementTree", "TreeBuilder", {"start": before}),
    *seams("xml.etree.ElementTree", "tostring", "tostringlist", look=before),
    *seams("xml.etree.ElementTree", "ElementTree.write", look=before),
)


@held_by.register
def _attributes_within(element: ElementTree.Element) -> Iterable[Any]:
    return [each.attrib for each in element.iter()]


@held_by.register
def _attributes_of_tree(tree: ElementTree.ElementTree) -> Iterable[Any]:
    root = tree.getroot()
    return () if root is None else [each.attrib for each in root.iter()]
