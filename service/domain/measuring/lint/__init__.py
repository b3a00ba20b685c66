"""Read the findings of Clang's tools, and the lines that a patch set touches."""
