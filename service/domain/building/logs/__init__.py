"""Logs of builds: their parts, their colours and what is found in them."""
