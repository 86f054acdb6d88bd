"""One module for each entry point in scripts/."""
