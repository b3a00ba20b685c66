"""Show the test cases of a build."""
