"""The dicts that lazy values are stored in, until each of them is made and afterwards."""
