"""The commands of the Makefile and of CI. A package, so that no other ``tools`` is found."""
