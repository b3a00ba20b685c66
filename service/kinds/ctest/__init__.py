"""Jobs of kind ctest: build the patch's side, and run its tests by CTest."""
