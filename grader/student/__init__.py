"""All that touches untrusted code: the student's process and what surrounds it."""
