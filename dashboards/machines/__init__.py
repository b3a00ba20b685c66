"""Show the environment that a build was measured in."""
