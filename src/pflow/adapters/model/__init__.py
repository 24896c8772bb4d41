"""Language models: three protocols over the one HTTP client, the providers that speak them, and installed agents."""
