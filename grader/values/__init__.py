"""Compare and format arrays, numbers and containers of them."""
