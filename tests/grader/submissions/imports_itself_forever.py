"""Imports a module that does not exist."""

import softmax_of_somebody_else

softmax = softmax_of_somebody_else.softmax
