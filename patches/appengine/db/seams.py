"""The seams of google.appengine.ext.db: the making and the writing of models.

Nothing of it is imported before the application imports it.
"""

from __future__ import annotations

from typing import Final

from lazyentity.patches.appengine.lasting import LastingSeam
from lazyentity.patches.registry import Seam, calling, replacing
from lazyentity.patches.spec import ClientSpec
from lazyentity.patches.upstream import AttributePath

_DB = "google.appengine.ext.db"

_CONVERSION = Seam(
    _DB,
    "Model.from_entity",
    replacing("appengine.db.models", "from_entity"),
    defers_to_foreign=True,
)

PART: Final = ClientSpec(
    name="appengine.db",
    waits_for_import=_DB,
    conversion=_CONVERSION,
    reading=(
        _CONVERSION,
        AttributePath(_DB, "Model._load_entity_values"),
        AttributePath(_DB, "Expando._load_entity_values"),
    ),
    seams=[
        *(
            LastingSeam(_DB, path, replacing("appengine.db.reading", "replace_getattr"))
            for path in ("Model.__getattr__", "Expando.__getattr__")
        ),
        Seam(_DB, "Property.__get__", replacing("appengine.db.reading", "property_get")),
        Seam(_DB, "Model._to_entity", calling("appengine.db.writing", "to_entity")),
        Seam(_DB, "Expando._to_entity", calling("appengine.db.writing", "expando_to_entity")),
        _CONVERSION,
    ],
    uses={
        _DB: (
            "ComputedProperty.__set__",
            "Expando._all_properties",
            "Expando._dynamic_properties",
            "Expando._load_entity_values",
            "Model._Model__set_property",
            "Model._entity",
            "Model._load_entity_values",
            "Model._properties",
            "Model._unindexed_properties",
            "Property._attr_name",
            "_ALLOWED_EXPANDO_PROPERTY_TYPES",
            "check_reserved_word",
        ),
        f"{_DB}.polymodel": ("_ClassKeyProperty.__set__",),
        "google.appengine.api.datastore_types": ("_PROPERTY_MEANINGS", "_RAW_PROPERTY_MEANINGS"),
    },
)
