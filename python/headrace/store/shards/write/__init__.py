"""Writers of lines, records and parts."""
