"""Local builds: a repository and a build on a developer's machine, without a server."""
