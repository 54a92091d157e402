"""Programs about the project: fuzzing, kill tests, bounds of versions, load on the server."""
