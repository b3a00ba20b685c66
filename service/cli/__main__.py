"""``python -m service.cli``: the command without its installed script."""

from service.cli import main

main()
