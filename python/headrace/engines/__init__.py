"""What runs fragments: threads of this process, or tasks of Spark."""
