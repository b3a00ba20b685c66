"""Tables and links of changes and patch sets."""
