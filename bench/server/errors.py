"""The one exception by which an RPC is refused."""

from __future__ import annotations

import grpc


class Refusal(Exception):
    """A canonical status code and a message for the caller."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def invalid_argument(message: str) -> Refusal:
    """A refusal of a request that is wrong in every state of the store."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, message)


def unimplemented(feature: str) -> Refusal:
    """A refusal of a request for something that this server does not do."""
    return Refusal(grpc.StatusCode.UNIMPLEMENTED, f"the loopback server does not support {feature}")
