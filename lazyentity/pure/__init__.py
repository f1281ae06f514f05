"""The pure backend, on the parser of the installed protobuf: the twin of the native one."""
