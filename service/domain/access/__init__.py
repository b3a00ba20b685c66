"""Access: who calls, what a caller may do, and the log of what was done."""
