"""Failures of builds and known failures: as steps store them, and as pages read them."""
