"""Run Benchgate on ``native/`` with eight jobs of three pools on this machine."""
