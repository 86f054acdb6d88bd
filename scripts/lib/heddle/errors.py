"""The one exception that ends a command with a sentence instead of a traceback."""


class Failure(Exception):
    """Something the user can put right; the text says what it is and what would be right."""
