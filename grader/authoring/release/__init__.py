"""Answer keys, and what a student is handed."""
