"""Grading: visibility, groups and epochs, references, budgets, reasons. Pure: frames in and out."""
