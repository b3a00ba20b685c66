"""The one error of these programs: a sentence that says what is missing or did not work."""


class CannotServe(Exception):
    """No server can be brought up or taken down as asked; the message is for the person who asked."""
