"""Jobs of kind clang-format: the touched lines of C and C++ must be formatted."""
