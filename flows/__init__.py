"""Prefect flows; thin."""
