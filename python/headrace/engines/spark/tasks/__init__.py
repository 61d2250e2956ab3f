"""Spark jobs: task functions are run, cancelled and followed; their failures are explained."""
