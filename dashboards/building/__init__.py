"""Show the logs of builds."""
