import lazyentity.auto  # before the other imports

import fastapi
import pydantic
from google.cloud import datastore

app = fastapi.FastAPI()
client = datastore.Client()


class Product(pydantic.BaseModel):
    amount: float
    currency: str


@app.get("/products/{number}", response_model=Product)
def one(number: int):
    product = client.get(client.key("Product", number))
    if product is None:
        raise fastapi.HTTPException(404)
    return product


@app.get("/products")
def all_of_them() -> list[Product]:
    # Decodes the properties of the model, and no others.
    products = client.query(kind="Product").fetch()
    return [lazyentity.to_dict(product, *Product.model_fields) for product in products]
