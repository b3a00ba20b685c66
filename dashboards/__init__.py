"""The pages: rendered by the server from the read ports, and usable without the scripts."""
