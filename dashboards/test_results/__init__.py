"""Test cases on the page of a build."""
