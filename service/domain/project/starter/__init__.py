"""The inquiry of a build system, from which a first project file is written."""
