"""What people read: the HTML page, Markdown, CSV and the terminal's tables."""
