"""Answer requests about regressions: the API, and the form that judges them."""
