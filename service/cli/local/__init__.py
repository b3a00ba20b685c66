"""Commands that need no server: gate, compare and doctor."""
