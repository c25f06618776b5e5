"""Exercise files judged in any editor, by the Language Server Protocol: `grade lsp`."""
