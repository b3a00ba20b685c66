"""Jobs of kind clang-analyzer: findings of the Clang static analyzer on the touched lines of C and C++."""
