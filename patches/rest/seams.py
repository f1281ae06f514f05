"""The seams of a client of the REST API: its requests, and the making of its entities.

Nothing of the client is imported before the application imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyentity.patches.guard import Guard, paths_of
from lazyentity.patches.registry import EitherSeam, Seam, ours, replacing
from lazyentity.patches.spec import ClientSpec


def rest_client(
    name: str,
    distribution: str,
    supported: str,
    package: str,
    session: tuple[str, str],
    response: tuple[str, str],
) -> ClientSpec:
    """Return the description of a client.

    Args:
        name: that ``patch()`` takes.
        distribution: the installed distribution.
        supported: the versions, as in a requirement.
        package: the package of the client.
        session: module and path of the function that sends requests of every kind.
        response: module and path of the function that parses the JSON of a response.
    """

    def sending(*, of_session: bool) -> Callable[..., Any]:
        def replace(original: Any, is_active: Callable[[], bool]) -> Any:
            replacing_post = ours("rest.calls", "replacing_post")
            return replacing_post(client, of_session=of_session)(original, is_active)

        return replace

    post = EitherSeam(
        Seam(f"{package}.datastore", "Datastore._post", sending(of_session=False)),
        # Before 9.2, each method of the client sends by itself.
        Seam(*session, sending(of_session=True)),
    )
    init = Seam(f"{package}.entity", "Entity.__init__", replacing("rest.calls", "replace_init"))
    passed_by = {
        f"{package}.datastore": (
            "Datastore._build_lookup_result",
            "Datastore.entity_result_kind",
            "Datastore.query_result_batch_kind",
            "Datastore.query_result_kind",
        ),
        f"{package}.entity": (
            "Entity.from_repr",
            "Entity.value_kind",
            "EntityResult.entity_kind",
            "EntityResult.from_repr",
        ),
        f"{package}.query": (
            "QueryResult.from_repr",
            "QueryResult.query_result_batch_kind",
            "QueryResultBatch.entity_result_kind",
            "QueryResultBatch.from_repr",
        ),
        f"{package}.value": ("Value.__init__", "Value._get_supported_types", "Value.from_repr"),
        response[0]: (response[1],),
    }
    client = ClientSpec(
        name=name,
        distribution=distribution,
        supported=supported,
        needs_native=True,
        waits_for_import=package,
        guard=Guard((init, *paths_of(passed_by)), (post,)),
        seams=[post, init],
        uses={f"{package}.datastore": ("Datastore._build_lookup_result",)},
    )
    return client
