"""Jobs of kind clang-tidy: its findings on the touched lines of C and C++."""
