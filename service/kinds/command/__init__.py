"""Jobs of kind command: build the patch's side, and run a command whose exit code is the result."""
