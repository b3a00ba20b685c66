"""Commands that need no server: gate, compare, doctor and schema."""
