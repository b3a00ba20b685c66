"""Local builds: a repository and a build on the machine of the person who asks, without a server."""
