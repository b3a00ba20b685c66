"""The machine plane: one claimed build, from sources to recorded pairs."""
