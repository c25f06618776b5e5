"""What no verdict needs: a class, the page, what is shown, notebooks and the tools of authors."""
