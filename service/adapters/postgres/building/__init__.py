"""Store the logs of builds."""
