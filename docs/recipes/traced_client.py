import lazyentity.auto  # before the other imports

from opentelemetry.instrumentation.grpc import GrpcInstrumentorClient

GrpcInstrumentorClient().instrument()

from google.cloud import datastore

client = datastore.Client()
