import logging
import os
import tempfile
import warnings

import pytest

# Before anything imports Prefect: neither the user's profile nor a home folder is needed.
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="prefect-")


@pytest.fixture(scope="session", autouse=True)
def prefect_server():
    """Run the flows against a real, temporary Prefect server, started once."""
    with warnings.catch_warnings():
        # What Prefect's own modules deprecate is no warning about ours.
        warnings.simplefilter("ignore")
        from prefect.testing.utilities import prefect_test_harness  # noqa: PLC0415

        with prefect_test_harness(server_startup_timeout=180):
            logging.getLogger("prefect").setLevel(logging.WARNING)
            yield
