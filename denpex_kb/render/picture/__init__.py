"""A diagnosis as one self-contained HTML file: lanes of ranks over time, and the whole answer beside them."""
