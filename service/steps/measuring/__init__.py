"""List, launch and measure the programs of both sides in pairs."""
