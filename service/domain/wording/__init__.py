"""Write the sentences of messages and pages, each in one place."""
