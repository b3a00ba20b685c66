"""Run untrusted programs with namespaces, limits and no network, or refuse to run them."""
