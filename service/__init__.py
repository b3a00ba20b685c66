"""Benchgate's service: performance CI for C++ projects that are reviewed on Gerrit."""
