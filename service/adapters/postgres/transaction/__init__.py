"""The unit of work of the control plane."""
