"""What people and other tools see of the store."""
