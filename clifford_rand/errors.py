"""The exceptions of the library: each names what came, the rule it broke and what to do."""


class ArgumentError(ValueError):
    """An argument breaks a rule that its docstring states.

    The message reads "The 'name' parameter of owner must be rule. Got value instead."
    """


class MissingDependencyError(ImportError):
    """An optional library is needed and not installed; the message gives the command that installs it."""
