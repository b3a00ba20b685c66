"""What the demo's people do: their changes, the repository these lie in, the events they cause."""
