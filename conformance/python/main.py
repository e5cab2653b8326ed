"""Runs every check, or those whose name matches the argument, a line each."""

import batches  # noqa: F401  the order is that of the checks
import messages  # noqa: F401
import streams  # noqa: F401
import asynchronous  # noqa: F401
import failures  # noqa: F401
import suite

suite.main()
