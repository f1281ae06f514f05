"""The native backend, compiled: the twin of the pure one."""
