"""Explain a slower benchmark: causes, functions, stacks and code of both sides."""
