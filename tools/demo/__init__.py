"""The demo: changes to four real C++ systems that Benchgate measures and votes on, on this machine."""
