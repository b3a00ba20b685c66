"""The kinds of jobs, one folder each; ``service/domain/project/job_kinds.py`` is the table of them."""
