"""Read and share the machine that this process runs on."""
