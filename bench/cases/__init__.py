"""The inputs of the benchmark: entities, the bytes of responses, and the properties to read."""
