"""The places from which a machine fetches files that are not in a project's own repository."""
