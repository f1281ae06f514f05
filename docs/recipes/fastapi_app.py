import lazyentity.auto  # before the other imports

import fastapi
import pydantic
from google.cloud import datastore

app = fastapi.FastAPI()
client = datastore.Client()


class Order(pydantic.BaseModel):
    amount: float
    currency: str


@app.get("/orders/{number}", response_model=Order)
def one(number: int):
    order = client.get(client.key("Order", number))
    if order is None:
        raise fastapi.HTTPException(404)
    return order


@app.get("/orders")
def all_of_them() -> list[Order]:
    # Decodes the properties of the model, and no others.
    orders = client.query(kind="Order").fetch()
    return [lazyentity.to_dict(order, *Order.model_fields) for order in orders]
