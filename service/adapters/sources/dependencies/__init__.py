"""Dependencies of projects: fetched, verified and unpacked once per machine."""
