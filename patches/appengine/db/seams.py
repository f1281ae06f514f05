"""The seams of google.appengine.ext.db: the making and the writing of models.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.appengine.lasting import LastingSeam
from lazyentity.patches.guard import Guard, paths_of
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec

_DB = "google.appengine.ext.db"
_POLYMODEL = f"{_DB}.polymodel"

_CONVERSION = Seam(_DB, "Model.from_entity", replacing("appengine.db.models", "from_entity"))
_PROPERTY_GET = Seam(_DB, "Property.__get__", replacing("appengine.db.attributes", "property_get"))
_ENTRIES = (
    Seam(_DB, "Model._to_entity", calling("appengine.db.writing", "to_entity")),
    _CONVERSION,
)

MAKING: Final = ("__init__", "__new__", "__setattr__", "_load_entity_values", "properties")
"""The methods that make a model, besides ``from_entity()``."""
_CLASSES = ("Boolean", "ByteString", "Category", "DateTime", "Float", "Integer", "Link", "String")
VALIDATING: Final = tuple(f"{name}Property" for name in (*_CLASSES, "List", "Text"))
"""The classes of properties whose ``validate`` returns a value that was read as it is."""

_GONE_PAST = {
    _DB: (
        *(f"{kind}.{name}" for kind in ("Model", "Expando") for name in MAKING),
        *(f"{kind}.validate" for kind in VALIDATING),
        "ComputedProperty.__set__",
        "ListProperty.default_value",
        "ListProperty.get_value_for_datastore",
        "ListProperty.make_value_from_datastore",
        "Property.__set__",
        "Property._attr_name",
        "Property.default_value",
        "Property.get_value_for_datastore",
        "Property.make_value_from_datastore",
        "ReferenceProperty.__set__",
    ),
    _POLYMODEL: ("PolyModel.__init__", "PolyModel.from_entity", "_ClassKeyProperty.__set__"),
}

PART: Final = ClientSpec(
    name="appengine.db",
    waits_for_import=_DB,
    needs=(_POLYMODEL,),
    conversion=_CONVERSION,
    guard=Guard(
        # Writing goes past the descriptors of properties that were not read.
        [_PROPERTY_GET, *paths_of(_GONE_PAST)],
        _ENTRIES,
    ),
    seams=[
        *(
            LastingSeam(_DB, path, replacing("appengine.db.attributes", "replace_getattr"))
            for path in ("Model.__getattr__", "Expando.__getattr__")
        ),
        _PROPERTY_GET,
        *_ENTRIES,
    ],
    uses={
        _DB: (
            "Expando._dynamic_properties",
            "Model._Model__set_property",
            "Model._entity",
            "Model._properties",
            "Model._unindexed_properties",
        ),
        "google.appengine.api.datastore_types": ("_PROPERTY_MEANINGS", "_RAW_PROPERTY_MEANINGS"),
    },
)
