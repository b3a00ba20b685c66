"""Sign people in and remember what review servers answered about them."""
