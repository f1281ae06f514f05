"""The one exception by which an RPC is refused."""

from __future__ import annotations

import grpc


class DatastoreError(Exception):
    """An RPC's refusal: a canonical status code and a message for the caller."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def invalid_argument(message: str) -> DatastoreError:
    """A refusal of a request that is wrong in every state of the store."""
    return DatastoreError(grpc.StatusCode.INVALID_ARGUMENT, message)


def unimplemented(feature: str) -> DatastoreError:
    """A refusal of a request for something that this server does not do."""
    return DatastoreError(
        grpc.StatusCode.UNIMPLEMENTED, f"the loopback server does not support {feature}"
    )
