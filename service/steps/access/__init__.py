"""Sign people in, manage API tokens, and decide which changes a viewer sees."""
