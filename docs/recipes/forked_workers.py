import multiprocessing

import lazyentity.auto
from google.cloud import datastore


def read(number):
    client = datastore.Client(project="demo")  # a client for each process: gRPC does not fork well
    job = client.get(client.key("Job", number))
    return type(job).__name__, job["cost"]


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as workers:
            print(method, workers.map(read, [1, 2]))
