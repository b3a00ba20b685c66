"""The kinds of jobs, one folder each; ``service/domain/project/kinds.py`` is the table of them."""
