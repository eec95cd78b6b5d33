"""`python -m recollectx` is the command `recollectx`."""

from recollectx.cli import main

if __name__ == "__main__":
    main()
