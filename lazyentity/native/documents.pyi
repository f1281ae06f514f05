import datetime
from collections.abc import Callable, Sequence
from typing import Any, final

@final
class DocumentReader:
    def __init__(
        self,
        *,
        geo_point: Callable[[float, float], Any],
        reference: Callable[[str, Any], Any],
        other_map: Callable[[bytes, Any], Any],
        timestamp: type[datetime.datetime] | None,
    ) -> None: ...

@final
class DocumentWriter:
    def __init__(
        self,
        *,
        other: Callable[[Any], bytes],
        is_for_client: Callable[[Any], bool],
        geo_point: type[Any],
        references: tuple[type[Any], ...],
        timestamp: type[Any],
        vector: type[Any],
        write: type[Any],
    ) -> None: ...
    def update(self, name: str, fields: dict[str, Any]) -> bytes | None: ...

class DocumentBytes:
    @classmethod
    def of(cls, raw: bytes, read_time_number: int, response: Any) -> Any: ...
    @classmethod
    def again(cls, raw: bytes, read_time_number: int, response: Any) -> Any: ...
    def is_in(self, collection: str) -> bool: ...
    @property
    def raw(self) -> bytes: ...
    @property
    def name(self) -> str: ...
    @property
    def read_time(self) -> Any: ...
    @property
    def create_time(self) -> Any: ...
    @property
    def update_time(self) -> Any: ...
    def decoded_fields(self, reader: DocumentReader, client: Any) -> Any: ...
    def decoded_value(self, reader: DocumentReader, client: Any, names: Sequence[str]) -> Any: ...
