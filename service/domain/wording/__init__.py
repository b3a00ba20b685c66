"""Wording: the sentences of typed reasons and causes, each written once."""
