"""Sources outside a project's repository: submodules, LFS files and repositories of a manifest."""
