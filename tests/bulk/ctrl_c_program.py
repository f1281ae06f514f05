"""Makes a bulk call of a server that does not answer, until Ctrl-C.

``python -m tests.bulk.ctrl_c_program CALL TRANSPORT PORT``. Prints the number of the exit status of
a shell for SIGINT, if KeyboardInterrupt comes out of the call.
"""

from __future__ import annotations

import signal
import sys

from google.cloud import datastore

from lazyentity.bulk import get_many, put_many
from tests.support.clients import make_client


def main(call: str, transport: str, port: int) -> None:
    """Make the call."""
    # It may be ignored by the program that started this one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    client = make_client(port, transport)
    keys = [client.key("Item", number) for number in range(1, 6_001)]
    try:
        if call == "put":
            put_many(client, map(datastore.Entity, keys))
        else:
            get_many(client, keys)
    except KeyboardInterrupt:
        sys.stdout.write(f"{128 + signal.SIGINT}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
