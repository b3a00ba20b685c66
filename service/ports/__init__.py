"""Ports: Protocols between the steps and the world, and the values that cross them."""
