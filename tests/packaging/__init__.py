"""Distributions built from the checkout install elsewhere. Slow: compiles several times."""
