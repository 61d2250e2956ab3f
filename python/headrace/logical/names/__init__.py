"""Names in a query: scopes, resolution, inlining."""
