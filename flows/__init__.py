"""Prefect flows; thin."""

import os

# A flow that is run without a server starts one of its own for the time it runs. On a busy machine
# that takes longer than Prefect waits by default, and it reports its use to nobody.
os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "300")
os.environ.setdefault("PREFECT_SERVER_DATABASE_TIMEOUT", "60")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
