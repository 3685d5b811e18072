"""The version of this package, which is the version of the service that it was made for."""

__version__ = "0.1.0"
