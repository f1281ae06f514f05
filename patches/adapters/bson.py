"""bson, of pymongo, and the messages that pymongo makes of documents.

bson refuses the sentinel, unless a fallback encoder takes it. pymongo writes messages into buffers.
"""

from __future__ import annotations

from lazyentity.patches.adapters.calls import before, seams

SEAMS = (
    *seams("bson", "_dict_to_bson", look=before),
    *seams(
        "pymongo.message",
        "_dict_to_bson",
        "_op_msg_uncompressed",
        "_batched_op_msg",
        "_encode_batched_op_msg",
        "_encode_batched_write_command",
        look=before,
    ),
)
