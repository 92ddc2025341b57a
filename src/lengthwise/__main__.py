"""`python -m lengthwise` is the command."""

from lengthwise.cli import main

main()
