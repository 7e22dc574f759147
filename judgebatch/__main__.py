"""``python -m judgebatch``."""

from judgebatch.cli.main import main

if __name__ == "__main__":
    main()
