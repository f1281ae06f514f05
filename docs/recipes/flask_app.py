import lazyentity.auto  # before the other imports

import flask
from google.cloud import datastore

app = flask.Flask(__name__)
client = datastore.Client()


@app.get("/products/<int:number>")
def one(number):
    product = client.get(client.key("Product", number))
    if product is None:
        flask.abort(404)
    return flask.jsonify(product)


@app.get("/products")
def all_of_them():
    # Decodes two properties of each product.
    products = client.query(kind="Product").fetch()
    return [lazyentity.to_dict(product, "amount", "currency") for product in products]
