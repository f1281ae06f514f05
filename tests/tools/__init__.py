"""The tools that the checkout is built and tested with."""
