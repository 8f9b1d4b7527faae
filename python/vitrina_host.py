"""Started by a runner, never manually."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from vitrina._host import main  # noqa: E402

main()
