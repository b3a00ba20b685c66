"""Ask a build system about a project, and write a first project file."""
