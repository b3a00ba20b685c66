"""The demo: four real C++ systems, reviewed and voted on by Benchgate on this machine."""
