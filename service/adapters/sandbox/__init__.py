"""Contains programs nobody has vouched for: namespaces, limits, no network; or refuses."""
