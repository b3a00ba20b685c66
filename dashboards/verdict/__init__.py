"""Tables and figures of comparisons and trends."""
