"""Ways to look at a tree, all drawn from one description."""
