"""``python -m fedlight``."""

import sys

from fedlight.cli import main

if __name__ == "__main__":
    sys.exit(main())
