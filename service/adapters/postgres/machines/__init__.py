"""Call the machine plane's stored functions; it reaches no table."""
