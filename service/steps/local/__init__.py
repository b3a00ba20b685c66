"""The engine without a server: gate and compare."""
