"""Reports of a run: text, HTML, OpenLineage."""
