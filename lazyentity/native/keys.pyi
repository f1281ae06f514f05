from typing import Any

from google.cloud.datastore.key import Key

def key_message(key: Key) -> Any: ...
