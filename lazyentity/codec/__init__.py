"""From serialised entities to Python values and back, as the stock client would convert them."""
