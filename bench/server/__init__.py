"""A loopback Datastore server: a test and benchmark server, not an emulator.

It speaks seven RPCs of ``google.datastore.v1.Datastore`` over gRPC, and over HTTP on a second
port, there in protobuf or JSON. It listens on 127.0.0.1 only and keeps everything in memory. It
exists so that a real client can be measured and tested over a real socket: reads splice stored
bytes into the response, so that a benchmark sees the cost of the client. It lacks the promises of
an emulator: no persistence, no index configuration, no quotas. It answers an unsupported call with
UNIMPLEMENTED, never with silence.

Left out: GQL, reserved ids, property masks and transforms, conflict detection by version, vector
search, reads of past states, explained aggregations, and the metadata kinds. Transactions are not
isolated: see :mod:`lazyentity.bench.server.datastore`. Queries are simpler than in Datastore: see
:mod:`lazyentity.bench.server.query`.

Entities are stored as sent. Property values are not validated, so that a client's reading of odd
entities can be tested too.

Run it as ``python -m lazyentity.bench.server``, or from Python with
:class:`lazyentity.bench.server.process.LoopbackServer`.
"""
