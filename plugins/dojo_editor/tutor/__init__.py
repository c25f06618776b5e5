"""Let an assistant be a student's tutor: `grade mcp`, a server of the Model Context Protocol."""
