"""Compare programs with themselves (A/A): when to, and what the result means for votes."""
