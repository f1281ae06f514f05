import lazyentity.auto  # before the other imports

import flask
from google.cloud import datastore

app = flask.Flask(__name__)
client = datastore.Client()


@app.get("/orders/<int:number>")
def one(number):
    order = client.get(client.key("Order", number))
    if order is None:
        flask.abort(404)
    return flask.jsonify(order)


@app.get("/orders")
def all_of_them():
    # Decodes two properties of each order.
    orders = client.query(kind="Order").fetch()
    return [lazyentity.to_dict(order, "amount", "currency") for order in orders]
