"""Store runs, builds, decisions and the outbox."""
