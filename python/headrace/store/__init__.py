"""Which files there are, and what they make possible.

Sources, how they are opened, the row index of each, and the sidecars that keep
such an index. Nothing here knows queries, engines or terminals.
"""
