"""The seams of a client of the REST API: its requests, and the making of its entities.

Nothing of the client is imported before the application imports it.
"""

from __future__ import annotations

from lazyentity.patches.registry import EitherSeam, Seam, replacing
from lazyentity.patches.spec import ClientSpec


def rest_client(
    name: str, distribution: str, supported: str, package: str, session: tuple[str, str]
) -> ClientSpec:
    """Return the description of a client.

    Args:
        name: that ``patch()`` takes. The package in ``lazyentity.patches`` that is named like it,
            with underscores, has a module ``calls``.
        distribution: the installed distribution.
        supported: the versions, as in a requirement.
        package: the package of the client.
        session: module and path of the function that sends requests of every kind.
    """
    calls = f"{name.replace('-', '_')}.calls"
    return ClientSpec(
        name=name,
        distribution=distribution,
        supported=supported,
        needs_native=True,
        waits_for_import=package,
        seams=[
            EitherSeam(
                Seam(f"{package}.datastore", "Datastore._post", replacing(calls, "replace_post")),
                # Before 9.2, each method of the client sends by itself.
                Seam(*session, replacing(calls, "replace_session_post")),
            ),
            Seam(f"{package}.entity", "Entity.__init__", replacing("rest.calls", "replace_init")),
        ],
        uses={
            f"{package}.datastore": ("Datastore._build_lookup_result",),
            f"{package}.value": ("Value._get_supported_types",),
        },
    )
