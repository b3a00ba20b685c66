"""The pages: server-rendered from the read port, with small scripts that add to what already works."""
