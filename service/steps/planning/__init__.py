"""Planning: from a change to its runs and builds."""
