"""The pages of known failures."""
