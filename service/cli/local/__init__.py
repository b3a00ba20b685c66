"""Commands that need no server: gate, compare, init, check, doctor and schema."""
