"""The work of a machine on a build, by the kind of its job; :mod:`service.kinds.runners` is the table."""
