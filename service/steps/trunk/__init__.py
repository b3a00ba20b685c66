"""Store people's judgements of regressions."""
