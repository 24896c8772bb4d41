"""Journal and state in Postgres, for many machines. Imported only where a place is named."""
