"""Talk to review servers: Gerrit, and a console that stands in for one."""
