"""Look at changes, run comment commands and post reviews."""
