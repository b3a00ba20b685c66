"""Ports: the Protocols through which the steps reach the world, and the values that cross them."""
