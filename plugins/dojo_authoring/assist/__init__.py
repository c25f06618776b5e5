"""Let an assistant draft mistakes and variants for an author: `kata assist`, a server of the Model Context
Protocol in an author's clone."""
