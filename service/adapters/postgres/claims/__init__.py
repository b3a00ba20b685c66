"""Store claims of commit messages, and read them with their answers as a viewer sees them."""
