"""What touches the world: each module implements a port over one thing outside."""
