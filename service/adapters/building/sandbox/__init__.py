"""The sandbox for untrusted programs: namespaces, limits and no network, or a refusal."""
