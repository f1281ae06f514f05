"""The refusal of bulk calls inside a transaction or a batch, which they would bypass."""

from __future__ import annotations

from google.cloud import datastore


def refuse_in_transaction(client: datastore.Client, function: str) -> None:
    """Check that the thread is not inside a transaction of the client.

    Raises:
        RuntimeError: if the thread is inside one.
    """
    if client.current_transaction is not None:
        raise RuntimeError(
            f"{function}() sends several requests, which no transaction can hold; call it outside "
            "of the transaction, or use the methods of the client"
        )


def refuse_in_batch(client: datastore.Client, function: str) -> None:
    """Check that the thread is inside neither a transaction nor a batch of the client.

    Raises:
        RuntimeError: if the thread is inside one.
    """
    refuse_in_transaction(client, function)
    if client.current_batch is not None:
        raise RuntimeError(
            f"{function}() commits by itself and would not wait for the batch; call it outside of "
            "the batch, or use the methods of the client"
        )
