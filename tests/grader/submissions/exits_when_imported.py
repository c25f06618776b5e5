"""Ends its process when it is imported."""

import os

os._exit(0)
