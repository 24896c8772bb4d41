"""The one HTTP client, under the policies of its callers."""
