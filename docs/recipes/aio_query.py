import asyncio

import lazyentity.auto
from gcloud.aio.datastore import Datastore, Query


async def amounts():
    async with Datastore(project="demo") as datastore:
        result = await datastore.runQuery(Query("Order"))
    entities = [found.entity for found in result.result_batch.entity_results]
    return sorted(entity.properties["amount"] for entity in entities)  # converted here


if __name__ == "__main__":
    print(asyncio.run(amounts()))
