"""Pictures of a plan: text, Mermaid and SVG."""
