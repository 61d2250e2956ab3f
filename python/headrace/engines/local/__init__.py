"""The local engine: fragments run in threads, with the GIL released in the kernel."""
