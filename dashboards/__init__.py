"""Render the pages on the server from the read ports; they work without the scripts."""
