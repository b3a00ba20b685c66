"""Read, page, search and colour build logs."""
