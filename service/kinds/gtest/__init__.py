"""Jobs of kind gtest: build the patch's side, and run its GoogleTest programs."""
