"""Recognise known failures and keep what people say about them."""
