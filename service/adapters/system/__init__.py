"""Run processes and touch files safely, also those that untrusted programs wrote."""
