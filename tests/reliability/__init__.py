"""What the library promises of reliability, each promise held by a volume of trials that one command runs."""
