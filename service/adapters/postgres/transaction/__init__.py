"""The unit of work of the control plane, one file per Protocol."""
