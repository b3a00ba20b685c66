"""The demo's history: sixty merged commits, measured once and loaded through the service."""
