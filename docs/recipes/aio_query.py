import asyncio

import lazyentity.auto
from gcloud.aio.datastore import Datastore, Query


async def seats():
    async with Datastore(project="demo") as datastore:
        result = await datastore.runQuery(Query("Flight"))
    entities = [found.entity for found in result.result_batch.entity_results]
    return sorted(entity.properties["seats"] for entity in entities)  # converted here


if __name__ == "__main__":
    print(asyncio.run(seats()))
