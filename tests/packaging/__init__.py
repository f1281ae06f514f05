"""What is built from the checkout installs elsewhere. Compiles several times: all of it is slow."""
