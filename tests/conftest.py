"""What holds for every test: the same examples each time; new ones with HYPOTHESIS_PROFILE=new."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
