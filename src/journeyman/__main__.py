"""`python -m journeyman`: the command line, for launchers that start a module."""

from journeyman.cli import main

main()
