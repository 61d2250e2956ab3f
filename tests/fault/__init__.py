"""Fault tests: killed processes, full disks, power failures, files that change under readers."""
