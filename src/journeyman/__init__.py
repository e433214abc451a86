"""Journeyman: turns an open-weight language model into an enterprise agent that can be depended on."""

__version__ = "0.1.0"
