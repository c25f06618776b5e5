"""Tools for authors of katas: create, verify, measure and release them."""
