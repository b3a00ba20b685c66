"""Read why a build failed from what its programs printed."""
