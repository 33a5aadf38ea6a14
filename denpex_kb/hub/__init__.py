"""The catalog as a static site: pages, search, and a page that reads a pasted log."""
