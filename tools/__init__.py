"""The commands of the Makefile and of CI. A package, so that no other one of this name is found."""
