"""Catalog and kb files become checked objects."""
