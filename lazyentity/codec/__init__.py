"""From serialised entities to Python values and back, always with the results of the stock client."""
