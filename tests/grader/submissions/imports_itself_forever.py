"""Imports what is not there."""

import softmax_of_somebody_else

softmax = softmax_of_somebody_else.softmax
