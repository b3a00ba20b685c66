"""Send notices by e-mail and to chats."""
