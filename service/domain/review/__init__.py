"""Hold changes, patch sets, comments and the commands in them."""
