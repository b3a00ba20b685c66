"""Record regressions of merged commits, and store what people make of them."""
