"""Rows between the stages of a run."""

from judgebatch.contracts import columns as c
from judgebatch.contracts.rows import EpisodeRows, VerdictRows


class StagedEpisodes(EpisodeRows):
    """Accepted episodes with their fingerprints."""

    name = "staged_episodes"

    id_high = c.integer("First half of the identity's fingerprint.")
    id_low = c.integer("Second half.")
    digest_high = c.integer("First half of the content's fingerprint.")
    digest_low = c.integer("Second half.")


class StagedVerdicts(VerdictRows):
    """Accepted verdicts with their fingerprints."""

    name = "staged_verdicts"
    version = 2

    id_high = c.integer("First half of the identity's fingerprint.")
    id_low = c.integer("Second half.")
    digest_high = c.integer("First half of the content's fingerprint.")
    digest_low = c.integer("Second half.")
    live = c.flag("An attached judge gave it in this run.")
    released = c.flag("Released after it was set aside because an episode was not seen in time.")
