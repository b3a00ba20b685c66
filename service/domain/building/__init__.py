"""Build specifications, keys of binaries, the compiler cache, sandboxes and build logs."""
