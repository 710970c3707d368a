"""What can be seen in a case: one module for each part of the way from file to report."""
