"""The errors that people see: one message that names the thing at fault and the remedy."""


class FedlightError(Exception):
    """Base of all errors meant for a person; the command line prints the message without a traceback.

    Attributes:
        common: whether every process of the run raised it, so that one of them tells it.
    """

    common: bool = False


class DataError(FedlightError):
    """An input file or folder is wrong. The message names file and line (or folder) and the remedy."""


class ConfigurationError(FedlightError, ValueError):
    """An option has a value that can't be used. The message names key, value and remedy; exit code 2."""


class CheckpointError(FedlightError):
    """A checkpoint or run folder can't be read, or does not fit this run; exit code 2."""


class FederationError(FedlightError):
    """The federation can't go on, for example after too many rounds without a usable update."""
