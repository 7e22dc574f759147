"""What a run tells the outside: metrics."""
