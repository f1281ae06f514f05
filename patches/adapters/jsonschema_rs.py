"""jsonschema-rs: refuses the sentinel, in the instance and in the schema."""

from __future__ import annotations

from lazyentity.patches.adapters.calls import before, seams

_CALLS = ("is_valid", "validate", "iter_errors", "evaluate")

SEAMS = (
    *seams("jsonschema_rs", *_CALLS, "validator_for", look=before, is_flat=True),
    *seams("jsonschema_rs", *(f"Validator.{name}" for name in _CALLS), look=before, is_flat=True),
)
