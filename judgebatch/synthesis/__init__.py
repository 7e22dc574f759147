"""Made-up corpora that look like real ones."""

from judgebatch.synthesis.corpus import FIRST_NIGHT, Corpus, synthesize

__all__ = ["FIRST_NIGHT", "Corpus", "synthesize"]
