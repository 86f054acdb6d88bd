"""The library behind the entry points in scripts/: Python 3.11, standard library only."""
