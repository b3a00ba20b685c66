"""Find what an author claims of benchmarks in a commit message, and answer it by what a run measured.

``find`` finds the tables, ``forms`` reads them, ``sides`` joins the rows of two tables to claims, ``prose``
reads sentences, and ``variants`` tells which claims show the patch set. ``answers`` compares claims with
measured rows, also with those that ``left_out`` keeps. ``near`` names what else may be meant, and ``facts``
counts answers.
"""
