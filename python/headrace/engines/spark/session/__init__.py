"""The Spark session: Java, master, the version and storage checks of its nodes."""
