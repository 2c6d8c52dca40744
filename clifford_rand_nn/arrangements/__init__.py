"""Every activation pattern of the data: the chambers of its hyperplane arrangement, each with a gate inside."""
