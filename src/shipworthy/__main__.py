"""`python -m shipworthy` is the command line."""

from .cli import main

main()
