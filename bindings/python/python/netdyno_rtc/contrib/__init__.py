"""What is not the API itself."""
