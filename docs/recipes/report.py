import io
import json

import lazyentity.auto
from google.cloud import datastore

client = datastore.Client(project="demo")
orders = client.query(kind="Order")


def total():
    amount = 0
    for order in orders.fetch():
        amount += order["amount"]
    return amount


def export(file):
    for order in orders.fetch():
        json.dump(dict(order), file, default=str)


print(total())
export(io.StringIO())
