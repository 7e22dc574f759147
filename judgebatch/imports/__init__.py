"""Files of other tools as the inputs of a run, settings included."""
