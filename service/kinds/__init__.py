"""Run builds on a machine: a module for each kind of job, listed in :mod:`service.kinds.runners`."""
