"""Values and text functions that every subject uses."""
