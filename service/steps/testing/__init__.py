"""Runs of the tests of a project, for the kinds of jobs that test."""
