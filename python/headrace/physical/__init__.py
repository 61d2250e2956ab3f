"""How the work is cut up: plain data, decided without opening a file."""
