"""Write answer keys and the repositories that students receive."""
