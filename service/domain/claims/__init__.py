"""Find the benchmark figures that an author claims in a commit message.

``find`` finds the tables, ``forms`` reads them, and ``sides`` joins the rows of two tables to claims.
"""
